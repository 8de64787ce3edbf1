package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/scenario"
)

// TestEveryScenarioHasARecording checks that the unit tests of kubeflap can replay each scenario of each release.
func TestEveryScenarioHasARecording(t *testing.T) {
	for _, s := range append(scenarios(cluster.Releases()), scenario.Faults(cluster.Newest)...) {
		for _, suffix := range []string{".jsonl.gz", ".facts.jsonl.gz"} {
			path := filepath.Join("../cmd/kubeflap/testdata/lab", nameOf(s)+suffix)
			if _, err := os.Stat(path); err != nil {
				t.Errorf("%v: run make lab-record", err)
			}
		}
	}
}
