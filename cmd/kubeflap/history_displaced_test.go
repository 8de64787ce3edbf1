package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// sized starts a kubeflap that keeps at most the given number of incidents.
func sized(t *testing.T, c *fakeCluster, size int) *restarted {
	r := newRestarted(t, c)
	r.kill()
	r.size = size
	r.begin()
	c.watch()
	return r
}

// TestNewerIncidentsDisplaceOneThatWasInterrupted restarts a kubeflap with a small --incidents.size during an incident.
// Long after this incident has ended, newer ones displace it.
func TestNewerIncidentsDisplaceOneThatWasInterrupted(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	cluster := func() *fakeCluster {
		c := newFakeCluster(30).silence(300, 1000, 5)
		for i := range 8 {
			from := 3000 + float64(i)*500
			c.silence(from, from+100, 10+i)
		}
		return c
	}
	truth, r := sized(t, cluster(), 4), sized(t, cluster(), 4)
	r.runUntil(600)
	r.stops = true
	r.restart(610)
	for _, at := range []float64{700, 2000, 3300, 4900, 5300, 5900, 7500} {
		truth.runUntil(at)
		r.runUntil(at)
		sameAsTruth(t, at, 12*time.Second, truth.incidents(), r.incidents())
	}
}

// slowly restarts kubeflap at a second. It lists one resource only later.
func (r *restarted) slowly(second float64, k event.Kind, later float64) {
	r.kill()
	c := r.cluster
	c.runUntil(second)
	r.begin()
	c.sink(event.Event{Seen: c.now, Kind: event.KindCluster, Type: event.Listed, Object: &event.Cluster{Version: c.version}})
	for _, x := range append(event.Kinds(), event.KindControlPlaneLease) {
		if x != k {
			c.list(x)
		}
	}
	c.watches[k].down = true
	c.at(later, func() { c.watches[k].down = false; c.list(k) })
}

// TestAListArrivesLate restarts kubeflap during an incident. The node returns before the last list is complete, and
// fails again hours later.
func TestAListArrivesLate(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for _, k := range []event.Kind{event.KindEndpointSlice, event.KindService, event.KindPod} {
		t.Run(k.String(), func(t *testing.T) {
			cluster := func() *fakeCluster { return newFakeCluster(9).silence(300, 615, 5).silence(9000, 9400, 5) }
			truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
			r.runUntil(600)
			r.stops = true
			r.slowly(610, k, 640)
			for _, at := range []float64{700, 2000, 9200, 9900} {
				truth.runUntil(at)
				r.runUntil(at)
				sameAsTruth(t, at, 40*time.Second, truth.incidents(), r.incidents())
			}
			sameEnds(t, truth, r)
		})
	}
}

// TestADisplacedIncidentStaysAway: newer incidents displace an ongoing one (--incidents.size). It recovers while
// kubeflap watches. After a restart an hour later, it must not claim an outage until the restart.
func TestADisplacedIncidentStaysAway(t *testing.T) {
	withoutRaceDetector(t)
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
