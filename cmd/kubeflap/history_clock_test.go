package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestTheClockIsSetBackDuringARestart moves the clock back by an hour while kubeflap is not running.
func TestTheClockIsSetBackDuringARestart(t *testing.T) {
	c := newFakeCluster(9).silence(300, 2000, 5)
	r := newRestarted(t, c)
	r.runUntil(400)
	r.kill()
	c.runUntil(2500)
	c.now = c.now.Add(-time.Hour)
	r.begin()
	c.watch()
	for range 200 {
		c.now = c.now.Add(500 * time.Millisecond)
		r.tick()
	}
	for _, x := range r.incidents() {
		if !x.End.IsZero() && x.End.Before(x.Start) {
			t.Errorf("%s ended %s before its start: %s", x.ID, x.Start.Sub(x.End), x.Summary)
		}
		for _, s := range x.Timeline {
			if !s.End.IsZero() && s.End.Before(s.Start) {
				t.Errorf("%s from %s to %s", s.Track, s.Start, s.End)
			}
		}
	}
}

// TestTheClockIsSetBackAfterARecovery sets the clock back by an hour while kubeflap is not running. The incident had
// recovered before. It must end.
func TestTheClockIsSetBackAfterARecovery(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	c := newFakeCluster(9).silence(4000, 4100, 5)
	r := newRestarted(t, c)
	r.runUntil(4130)
	if x := r.only(); x.State != incident.StateRecovered {
		t.Fatal(described(x))
	}
	r.stops = true
	r.kill()
	c.runUntil(4140)
	c.now = c.now.Add(-time.Hour)
	r.begin()
	c.watch()
	for range 1800 {
		c.now = c.now.Add(500 * time.Millisecond)
		r.tick()
	}
	for _, x := range r.incidents() {
		if x.Subject == "node-5" && x.State != incident.StateEnded {
			t.Errorf("15 minutes after the restart, the incident is %s; its end was reported %d times", x.State, r.ends(x.ID))
		}
	}
}
