package cluster

import "testing"

func TestNoPortIsGivenTwice(t *testing.T) {
	seen := map[string]bool{}
	for range 1000 {
		address, err := FreePort()
		if err != nil {
			t.Fatal(err)
		}
		if seen[address] {
			t.Fatalf("%s was returned twice", address)
		}
		seen[address] = true
	}
}
