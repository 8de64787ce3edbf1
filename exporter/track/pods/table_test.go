package pods

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func TestTableKeepsARecordUntilItsLastUserIsGone(t *testing.T) {
	random, numbers, users := rand.New(rand.NewPCG(1, 1)), map[string]uint32{}, map[string]int{}
	x := newTable(func(s *string) *string { return s }, func(s string) uint32 { return hashText(s) % 64 }) // many collisions
	for range 5000 {
		key := fmt.Sprint(random.IntN(600))
		if random.IntN(2) == 0 || users[key] == 0 {
			n := x.take(key)
			if users[key]++; users[key] > 1 && numbers[key] != n {
				t.Fatalf("record %d of %s has the number %d now", numbers[key], key, n)
			}
			numbers[key] = n
		} else if users[key]--; users[key] >= 0 {
			x.release(numbers[key])
		}
	}
	kept := 0
	for n, r := range x.all() {
		if kept++; users[*r] == 0 || numbers[*r] != n {
			t.Errorf("%q has %d users, and the number %d", *r, users[*r], n)
		}
	}
	for key, count := range users {
		if n := x.find(key); (n != 0) != (count > 0) || count > 0 && *x.at(n) != key {
			t.Errorf("%s has %d users, and the number %d", key, count, n)
		}
		if count > 0 {
			kept--
		}
	}
	if kept != 0 || *x.at(0) != "" {
		t.Errorf("%d records too many; the record 0 is %q", kept, *x.at(0))
	}
}
