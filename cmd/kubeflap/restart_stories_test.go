package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// gaps are the seconds for which kubeflap is not running.
func gaps() []float64 { return []float64{3, 20, 75, 240, 590} }

// TestRestartsInAllStories restarts kubeflap at many moments of each story. At the end of the story, the incidents must be
// those of a kubeflap that was not restarted, apart from what happened while it was not running.
func TestRestartsInAllStories(t *testing.T) {
	withoutRaceDetector(t)
	for _, x := range allStories() {
		t.Run(x.name, func(t *testing.T) {
			t.Parallel()
			end := x.expected[len(x.expected)-1].at
			truth := newRestarted(t, x.cluster())
			truth.runUntil(end)
			moments := few(20, 2)
			for i := range moments {
				stop := end * (float64(i) + 0.5) / float64(moments)
				gap := gaps()[i%len(gaps())]
				if stop+gap+5 > end {
					continue
				}
				r := newRestarted(t, x.cluster())
				r.runUntil(stop)
				r.stops = i%2 == 0
				r.restart(stop + gap)
				r.runUntil(end)
				if bad := afterRestart(truth.incidents(), r.incidents(), stop, stop+gap); bad != "" {
					t.Errorf("restarted from %g to %g: %s", stop, stop+gap, bad)
				}
				r.kill()
			}
		})
	}
}

// afterRestart compares the incidents of a restarted kubeflap with the true ones. It returns the differences, without
// those that are due to what happened in the gap.
func afterRestart(want, got []incident.Incident, stopped, started float64) string {
	second := func(t time.Time) float64 { return t.Sub(storyBegin).Seconds() }
	inGap := func(t time.Time) bool { return !t.IsZero() && second(t) > stopped-1 && second(t) < started+2 }
	var bad []string
	for _, x := range want {
		i := slices.IndexFunc(got, func(y incident.Incident) bool { return y.ID == x.ID || slices.Contains(y.Also, x.ID) })
		switch {
		case inGap(x.Start):
		case i < 0:
			bad = append(bad, "missing: "+described(x))
		case got[i].Verdict != x.Verdict || !got[i].Start.Equal(x.Start) || !inGap(x.End) && !got[i].End.Equal(x.End):
			bad = append(bad, fmt.Sprintf("got %s, want %s", described(got[i]), described(x)))
		}
	}
	for _, y := range got {
		if !inGap(y.Start) && !slices.ContainsFunc(want, func(x incident.Incident) bool { return y.ID == x.ID || slices.Contains(x.Also, y.ID) }) {
			bad = append(bad, "superfluous: "+described(y))
		}
	}
	return strings.Join(bad, "\n")
}
