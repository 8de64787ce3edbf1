package main

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestTheClockIsSetBackDuringARestart sets the clock back while kubeflap is not running, and while or after node-5 is silent.
// An hour is too much, so kubeflap starts without its history. No incident must end before its start.
func TestTheClockIsSetBackDuringARestart(t *testing.T) {
	withoutRaceDetector(t)
	for name, x := range map[string]struct {
		from, to, stop, start float64
		by                    time.Duration
		notices               string
	}{
		"by an hour in an incident that is over after the restart": {300, 2000, 400, 2500, time.Hour, "started node-5 node"},
		"by an hour after a recovery":                              {4000, 4100, 4130, 4140, time.Hour, "started node-5 node"},
		"by less than the slack":                                   {300, 1000, 400, 401, 3 * time.Second, "started node-5 node, continued node-5 node, ended node-5 node"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFakeCluster(9).silence(x.from, x.to, 5)
			r := newRestarted(t, c)
			r.runUntil(x.stop)
			r.stops = true
			r.kill()
			c.runUntil(x.start)
			c.now = c.now.Add(-x.by)
			r.begin()
			c.watch()
			for range 1800 {
				if c.now = c.now.Add(500 * time.Millisecond); x.by < clockSlack {
					c.runUntil(c.second())
				}
				r.tick()
			}
			// The other nodes are silent, too, if their clocks are not those of kubeflap.
			r.reported = slices.DeleteFunc(r.reported, func(n incident.Notice) bool { return n.Incident.Subject != "node-5" })
			if got := r.notices(); got != x.notices {
				t.Errorf("reported %s, want %s", got, x.notices)
			}
			checkOrder(t, r.incidents())
			for _, x := range r.incidents() {
				if x.Subject == "node-5" && x.State != incident.StateEnded {
					t.Errorf("15 minutes after the restart: %s", described(x))
				}
			}
		})
	}
}

// checkOrder checks that nothing ends before it starts.
func checkOrder(t *testing.T, all []incident.Incident) {
	t.Helper()
	for _, x := range all {
		if !x.End.IsZero() && x.End.Before(x.Start) {
			t.Errorf("%s ended %s before its start: %s", x.ID, x.Start.Sub(x.End), x.Summary)
		}
		for _, s := range x.Timeline {
			if !s.End.IsZero() && s.End.Before(s.Start) {
				t.Errorf("%s %s ends at %s, before its start at %s", s.Track, s.Name, s.End.Sub(storyBegin), s.Start.Sub(storyBegin))
			}
		}
	}
}
