package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestADisplacedIncidentStaysAway: newer incidents displace an ongoing one (--incidents.size). It recovers while
// kubeflap watches. After a restart an hour later, it must not claim an outage until the restart.
func TestADisplacedIncidentStaysAway(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
	t.Parallel()
	cluster := func() *fakeCluster {
		c := newFakeCluster(9)
		for i, x := range [][2]float64{{360, 800}, {600, 3000}, {700, 3100}} {
			v := c.service([]string{"one", "two", "three"}[i], true)
			v.start(c, c.nodes[i]).serve()
			v.fill()
			c.notReady(v.pods[0], x[0], x[1])
		}
		return c
	}
	truth, r := sized(t, cluster(), 2), sized(t, cluster(), 2)
	r.runUntil(5000)
	r.stops = true
	r.restart(5010)
	for _, at := range []float64{5012, 5200} {
		truth.runUntil(at)
		r.runUntil(at)
		sameAsTruth(t, at, 12*time.Second, truth.incidents(), r.incidents())
	}
}

// blindSpans returns the periods in which kubeflap was not watching, in seconds.
func blindSpans(x incident.Incident) (all [][2]float64) {
	for _, s := range x.Timeline {
		if s.Track == incident.TrackBlind {
			end := -1.0
			if !s.End.IsZero() {
				end = s.End.Sub(storyBegin).Seconds()
			}
			all = append(all, [2]float64{s.Start.Sub(storyBegin).Seconds(), end})
		}
	}
	return all
}

// TestTheSecondBlindStretch restarts kubeflap twice, an hour apart, in an incident that does not change.
func TestTheSecondBlindStretch(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
	t.Parallel()
	for name, cluster := range map[string]func() *fakeCluster{
		"foreign slice": func() *fakeCluster { c := newFakeCluster(9); x := c.extra(300); return c.remove(4205, x) },
		"withdrawn": func() *fakeCluster {
			return newFakeCluster(9).edit(300, "kubectl", withoutFirst).edit(4205, "kube-controller-manager", asItWas)
		},
		"conflict": func() *fakeCluster {
			c := newFakeCluster(3)
			v := c.manual("kube-scheduler", true)
			c.write(60, v, "192.168.10.1", "192.168.10.2")
			return c.at(4205, func() { v.Selector = nil; c.tell(event.Modified, &v.Service) })
		},
		"silent node":        func() *fakeCluster { return newFakeCluster(9).silence(300, 4202, 5) },
		"three silent nodes": func() *fakeCluster { return newFakeCluster(9).silence(300, 4202, 1, 4, 7) },
	} {
		t.Run(name, func(t *testing.T) {
			r := newRestarted(t, cluster())
			r.runUntil(600)
			r.stops = true
			r.restart(610)
			r.runUntil(4200)
			r.stops = true
			r.restart(4230)
			r.runUntil(4235)
			r.runUntil(4600)
			x := r.incidents()[0]
			for _, s := range blindSpans(x) {
				if s[1]-s[0] > 60 {
					t.Errorf("blind from %g to %g, but kubeflap was not running from 600 to 610 and from 4200 to 4230 only", s[0], s[1])
				}
			}
			for _, s := range x.Timeline {
				if !s.End.IsZero() && s.End.Before(s.Start) {
					t.Errorf("%s %s ends at %s, before its start at %s", s.Track, s.Name, s.End.Sub(storyBegin), s.Start.Sub(storyBegin))
				}
			}
			if len(blindSpans(x)) != 2 {
				t.Errorf("%d blind stretches, want 2", len(blindSpans(x)))
			}
		})
	}
}

// TestAShortReturnEndsTheOutage: after a restart, an address returns for less than a second. The outage before and the
// one after must not be counted twice.
func TestAShortReturnEndsTheOutage(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
	t.Parallel()
	for _, offset := range []float64{0, 0.25, 0.5, 0.75} {
		cluster := func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 500+offset)
			c.notReady(pods[0], 500.3+offset, 2000)
			return c
		}
		truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
		r.runUntil(400)
		r.stops = true
		r.restart(405)
		for _, at := range []float64{499, 600, 1900, 2300} {
			truth.runUntil(at)
			r.runUntil(at)
			sameAsTruth(t, at, 8*time.Second, truth.incidents(), r.incidents())
		}
		sameEnds(t, truth, r)
	}
}

// TestTheClockIsSetBackAfterARecovery sets the clock back by an hour while kubeflap is not running. The incident had
// recovered before. It must end.
func TestTheClockIsSetBackAfterARecovery(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes long with the race detector")
	}
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
		t := r.pipeline.advance()
		r.pipeline.mu.Lock()
		r.pipeline.report(t, r.pipeline.incidents.Notices(t))
		r.pipeline.look(t)
		r.pipeline.mu.Unlock()
	}
	for _, x := range r.incidents() {
		if x.Subject == "node-5" && x.State != incident.StateEnded {
			t.Errorf("15 minutes after the restart, the incident is %s; its end was reported %d times", x.State, r.ends(x.ID))
		}
	}
}
