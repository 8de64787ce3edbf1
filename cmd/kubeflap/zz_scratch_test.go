package main

import (
	"os"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/clustertest"
)

func TestScratch(t *testing.T) {
	for _, s := range clustertest.Stories(t, os.Getenv("SCRATCH")) {
		t.Run(s.Name, func(t *testing.T) {
			t.Parallel()
			w := newStoryWatcher(t, s.Cluster(0))
			for _, a := range s.Asks {
				w.runUntil(a.At)
				all := w.incidents()
				t.Logf("%g: %s", a.At, textOf(all))
				if a.Want == "!" {
					for i := range all {
						t.Logf("   %s %s [%s] start=%s id=%s: %s\n      FIRST %s | CMD %s\n      %v", all[i].State, all[i].What(), all[i].Scope, all[i].Since(), all[i].ID, all[i].Summary, all[i].FirstStep, all[i].Command, all[i].Considered)
					}
				}
			}
		})
	}
}
