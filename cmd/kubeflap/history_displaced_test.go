package main

import "testing"

// TestDisplacedIncidentsCountThroughRestarts loses six nodes one after another, but keeps only two incidents. Each
// displaced incident must count once, in the process that dropped it and in later ones.
func TestDisplacedIncidentsCountThroughRestarts(t *testing.T) {
	c := newFakeCluster(9)
	for n := 1; n <= 6; n++ {
		c.silence(float64(n)*1500, float64(n)*1500+200, n)
	}
	r := newRestarted(t, c)
	r.kill()
	r.size = 2
	r.begin()
	r.cluster.watch()
	for _, step := range []struct {
		until    float64
		restarts bool
		lost     int
	}{{2500, false, 1}, {5500, false, 3}, {5600, true, 3}, {8500, false, 5}, {8600, true, 5}, {8700, true, 5}, {10000, false, 6}} {
		if step.restarts {
			r.restart(step.until - 50)
		}
		r.runUntil(step.until)
		shown, displaced := len(r.incidents()), r.pipeline.cluster("").Displaced()
		if shown != min(step.lost, 2) || displaced.Count != max(step.lost-2, 0) || displaced.Until.IsZero() != (displaced.Count == 0) {
			t.Errorf("at %g s: %d shown and %+v displaced, want %d in all", step.until, shown, displaced, step.lost)
		}
	}
}
