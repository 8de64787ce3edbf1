package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kingpin/v2"
)

func TestKnownManagersCanBeRepeated(t *testing.T) {
	app := kingpin.New("kubeflap", "")
	f := addTrackerFlags(app.Command("run", ""))
	if got := f.tracker.KnownManagers; len(got) != 0 {
		t.Errorf("without the flag: %q", got)
	}
	if _, err := app.Parse([]string{"run", "--endpoints.known-manager=a.example.com", "--endpoints.known-manager", "b"}); err != nil {
		t.Fatal(err)
	}
	if got := f.tracker.KnownManagers; !slices.Equal(got, []string{"a.example.com", "b"}) {
		t.Errorf("got %q", got)
	}
}

func TestArgumentsAsKubectlTakesThem(t *testing.T) {
	app := kingpin.New("kubeflap", "")
	app.Command("run", "").Default()
	addClusterFlags(app.Command("watch", ""), "")
	app.GetCommand("run").Flag("output", "").Short('o').String()
	app.GetCommand("run").Flag("verbose", "").Short('v').Bool()
	for given, want := range map[string]string{
		"":                                "",
		"watch -n shop":                   "watch -n shop",
		"--context prod watch":            "watch --context prod",
		"--context=prod -n shop watch -v": "watch --context=prod -n shop -v",
		"--user watch":                    "--user watch",
		"--user watch watch":              "watch --user watch",
		"-n=shop -owide":                  "-n shop -o wide",
		"-n=shop watch":                   "watch -n shop",
		"--output watch":                  "--output watch",
		"file watch":                      "file watch",
		"run --title x=y -":               "run --title x=y -",
	} {
		if got := strings.Join(likeKubectl(app, strings.Fields(given)), " "); got != want {
			t.Errorf("%s becomes %s, want %s", given, got, want)
		}
	}
}
