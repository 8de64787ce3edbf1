package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

// The documents must name the releases that the tests use.
func TestDocumentsNameTheReleases(t *testing.T) {
	oldest, newest := string(cluster.Oldest), string(cluster.Newest)
	for path, say := range map[string][]string{
		"README.md": {fmt.Sprintf("It runs %s and %s,", newest, oldest), "--release " + oldest, "-release " + oldest},
		"../README.md": {
			fmt.Sprintf("Kubernetes %s to %s,", minor(oldest), minor(newest)), fmt.Sprintf("tested with %s and %s", oldest, newest),
		},
		"../docs/install.md": {
			fmt.Sprintf("supports %s to %s.", minor(oldest), minor(newest)),
			fmt.Sprintf("the oldest release, %s, and the newest, %s.", oldest, newest),
			"no test uses a version before " + minor(oldest) + ".", "RELEASE=" + oldest,
			"version: " + onOldest() + ".",
		},
	} {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		unbroken := strings.ReplaceAll(string(text), "\n", " ")
		for _, want := range say {
			if !strings.Contains(unbroken, want) {
				t.Errorf("%s does not contain %q", path, want)
			}
		}
	}
}

// minor returns a release without its patch version: v1.31 for v1.31.0.
func minor(release string) string { return release[:strings.LastIndex(release, ".")] }

// onOldest returns the names of the scenarios that run on the oldest release, in the order of scenario.All, joined for
// a sentence.
func onOldest() string {
	runs := slices.DeleteFunc(scenarios(cluster.Releases()), func(s scenario.Scenario) bool { return s.Extra })
	var names []string
	for _, s := range scenario.All(cluster.Newest) {
		if slices.ContainsFunc(runs, func(run scenario.Scenario) bool { return run.Name == s.Name && run.Options.Release == cluster.Oldest }) {
			names = append(names, "`"+s.Name+"`")
		}
	}
	last := len(names) - 1
	return strings.Join(names[:last], ", ") + " and " + names[last]
}
