package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// gaps are the seconds for which kubeflap is not running.
func gaps() []float64 { return []float64{3, 20, 75, 240, 590} }

// watchedStories returns the stories in which all watches work from the beginning. A fake cluster can only break a watch
// that is open.
func watchedStories(t *testing.T) []scenario {
	t.Helper()
	return readStories(t, "heartbeats", "control_plane", "departures", "recreated", "machines_gone", "services", "writers", "mirrored", "advice", "clocks")
}

// TestRestartsInAllStories restarts kubeflap at many moments of each story: in turn, it is killed, and it stops and has a
// real flight recorder. At the end of the story, the incidents must be those of a kubeflap that was not restarted, apart
// from what happened while it was not running.
func TestRestartsInAllStories(t *testing.T) {
	withoutRaceDetector(t)
	for n, x := range append(watchedStories(t), readStories(t, "weak_nodes")...) {
		t.Run(x.Name, func(t *testing.T) {
			t.Parallel()
			end := x.Asks[len(x.Asks)-1].At
			truth := startRestarted(&restarted{t: t, cluster: x.Cluster(0), size: 500})
			truth.runUntil(end)
			moments := few(20, 2)
			for i := range moments {
				stop := end * (float64(i) + 0.5) / float64(moments)
				gap := gaps()[i%len(gaps())]
				if stop+gap+5 > end {
					continue
				}
				// If the segments are small, the oldest ones are soon deleted.
				bytes := []int64{1 << 30, 64 << 10}[(n+i/2)%2] * int64(1-i%2)
				got := restartedOnce(t, &restarted{cluster: x.Cluster(0), size: 500, bytes: bytes}, stop, stop+gap, end)
				if bad := afterRestart(truth.incidents(), got, stop, stop+gap); bad != "" && x.unclear == "" {
					t.Errorf("restarted from %g to %g: %s", stop, stop+gap, bad)
				}
			}
		})
	}
}

// restartedOnce returns the incidents of a kubeflap that is restarted once.
func restartedOnce(t *testing.T, r *restarted, stop, start, end float64) (all []incident.Incident) {
	t.Helper()
	run := func(t *testing.T) {
		r.t = t
		startRestarted(r)
		r.runUntil(stop)
		r.restart(start)
		r.runUntil(end)
		r.kill()
		all = r.incidents()
	}
	if r.bytes == 0 {
		run(t)
	} else {
		synctest.Test(t, run)
	}
	return all
}

// afterRestart compares the incidents of a restarted kubeflap with the true ones. It returns the differences, without
// those that are due to what happened in the gap.
func afterRestart(want, got []incident.Incident, stopped, started float64) string {
	second := func(t time.Time) float64 { return t.Sub(storyBegin).Seconds() }
	inGap := func(t time.Time) bool { return !t.IsZero() && second(t) > stopped-1 && second(t) < started+2 }
	// The start of a silence may be in the gap if the silence became an incident one grace period after the gap.
	beganInGap := func(t time.Time) bool { return second(t) > stopped-1 && second(t) < started+45 }
	// The heads of recordings have nanoseconds, which no API object has.
	sameStart := func(a, b time.Time) bool { return a.Truncate(time.Microsecond).Equal(b.Truncate(time.Microsecond)) }
	related := func(x, y incident.Incident) bool {
		return x.ID == y.ID || slices.Contains(x.Also, y.ID) || slices.Contains(y.Also, x.ID)
	}
	var bad []string
	for _, x := range want {
		i := slices.IndexFunc(got, func(y incident.Incident) bool { return related(x, y) })
		// In a long gap, nodes can return and fail again, so only the beginning of an incident is certain.
		uncertain := started-stopped > 20 && second(x.Start) < stopped && (x.End.IsZero() || second(x.End.Time) > stopped-1)
		switch {
		case beganInGap(x.Start):
		case i < 0:
			bad = append(bad, "missing: "+described(x))
		case !uncertain && (got[i].Verdict != x.Verdict || !sameStart(got[i].Start, x.Start) || !inGap(x.End.Time) && !got[i].End.Equal(x.End.Time)):
			bad = append(bad, fmt.Sprintf("got %s, want %s", described(got[i]), described(x)))
		}
	}
	for _, y := range got {
		if !beganInGap(y.Start) && !slices.ContainsFunc(want, func(x incident.Incident) bool { return related(x, y) }) {
			bad = append(bad, "superfluous: "+described(y))
		}
	}
	return strings.Join(bad, "\n")
}
