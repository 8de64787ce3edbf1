package main

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

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
	withoutRaceDetector(t)
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
			return c.at(4205, func() { v.Selector = nil; c.sendToWatch(event.Modified, &v.Service) })
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
