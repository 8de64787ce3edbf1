package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestRestartsDoNotChangeWhatIncidentsSay restarts kubeflap in outages: between a failed probe, the exit of a container and
// the recovery, and after pods were evicted and relabelled. Afterwards, it must say the same as one that was not restarted.
func TestRestartsDoNotChangeWhatIncidentsSay(t *testing.T) {
	lines := "start 9; 60 unready cart/1 until 500; 61 unready cart/2 until 500; 90 crash cart/1 until 130; " +
		"200 evict web/1 PreemptionByScheduler; 300 service solo 3; 300 relabel solo/1 debug"
	said := func(r *restarted, at float64) (all string) {
		r.runUntil(at)
		for _, x := range r.incidents() {
			if at > 500 {
				x.WaitsFor = ""
				for _, e := range x.Evidence {
					if strings.Contains(e.Text, "waited") {
						all += e.Text + "\n"
					}
				}
			}
			all += fmt.Sprintf("%s %s %s: %s %s\n", x.ID, x.Cause, x.WaitsFor, x.Summary, x.Remedy)
		}
		return all
	}
	for _, times := range [][2]float64{{70, 80}, {85, 95}, {100, 110}, {150, 160}, {320, 330}} {
		truth, other := newRestarted(t, lines), newRestarted(t, lines)
		other.runUntil(times[0])
		other.restart(times[1])
		for _, at := range []float64{400, 700} {
			got, want := said(other, at), said(truth, at)
			if got != want {
				t.Errorf("restarted from %g to %g: at %g\n%s\nwant\n%s", times[0], times[1], at, got, want)
			}
			for _, quote := range []string{"and then containers exited (container app: Error, exit code 137)", "(label app=debug, the selector is app=solo)", "shop/cart wait"} {
				if !strings.Contains(want, quote) {
					t.Errorf("%q is not in %s", quote, want)
				}
			}
		}
	}
}
