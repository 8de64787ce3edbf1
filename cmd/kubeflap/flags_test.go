package main

import (
	"slices"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

func TestKnownManagersCanBeRepeated(t *testing.T) {
	app := kingpin.New("kubeflap", "")
	f := addTrackerFlags(app.Command("run", ""))
	if got := f.settings().KnownManagers; len(got) != 0 {
		t.Errorf("without the flag: %q", got)
	}
	if _, err := app.Parse([]string{"run", "--endpoints.known-manager=a.example.com", "--endpoints.known-manager", "b"}); err != nil {
		t.Fatal(err)
	}
	if got := f.settings().KnownManagers; !slices.Equal(got, []string{"a.example.com", "b"}) {
		t.Errorf("got %q", got)
	}
}
