package main

import (
	"fmt"
	"strings"
	"testing"
)

// TestRestartsDoNotChangeWhatKeepsAnOutageGoing restarts kubeflap in an outage. Afterwards, it must say the same as one that
// was not restarted.
func TestRestartsDoNotChangeWhatKeepsAnOutageGoing(t *testing.T) {
	lines := "start 9; 60 unready cart/1 until 500; 61 unready cart/2 until 500"
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
			all += fmt.Sprintf("%s %s: %s\n", x.ID, x.WaitsFor, x.Remedy)
		}
		return all
	}
	for _, times := range [][2]float64{{90, 100}, {110, 130}, {300, 310}} {
		truth, other := newRestarted(t, lines), newRestarted(t, lines)
		other.runUntil(times[0])
		other.restart(times[1])
		for _, at := range []float64{400, 700} {
			if got, want := said(other, at), said(truth, at); got != want || !strings.Contains(want, "shop/cart wait") {
				t.Errorf("restarted from %g to %g: at %g\n%s\nwant\n%s", times[0], times[1], at, got, want)
			}
		}
	}
}
