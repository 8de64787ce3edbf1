package main

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestRestartsWithoutPermissions restarts a kubeflap that may not watch one resource, such as nodes with --namespace.
// The incident of a workload must end nevertheless.
func TestRestartsWithoutPermissions(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for name, lacking := range map[string][]event.Kind{
		"without nodes": {event.KindNode, event.KindLease}, "without slices": {event.KindEndpointSlice}, "without Endpoints": {event.KindEndpoints},
		"without Leases": {event.KindLease}, "without Services": {event.KindService}, "without pods": {event.KindPod},
	} {
		for when, back := range map[string]float64{"returns later": 460, "returns in the gap": 402} {
			t.Run(name+", "+when, func(t *testing.T) {
				cluster := func() *fakeCluster {
					c, pods := solo(1)
					c.notReady(pods[0], 360, back)
					for _, k := range lacking {
						c.lacks(k, event.ReasonForbidden)
					}
					return c
				}
				truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
				r.runUntil(400)
				r.stops = true
				r.restart(405)
				end := float64(few(3000, 1200))
				truth.runUntil(end)
				r.runUntil(end)
				a, b := truth.incidents(), r.incidents()
				if len(a) != len(b) || len(a) > 0 && (a[0].ID != b[0].ID || a[0].State != b[0].State) {
					t.Errorf("got %+v, want %+v; %s", b, a, r.notices())
				}
			})
		}
	}
}

// TestPublishNotReadyAddressesIsSetDuringTheRestart sets
// publishNotReadyAddresses while kubeflap is not running.
func TestPublishNotReadyAddressesIsSetDuringTheRestart(t *testing.T) {
	c, pods := solo(2)
	c.notReady(pods[0], 360, forever)
	c.at(402, func() {
		v := pods[0].service
		v.PublishNotReady = true
		c.sendToWatch(event.Modified, &v.Service)
		v.fill()
		for i := range v.slice.Addresses {
			v.slice.Addresses[i].Ready = true
		}
		c.sendToWatch(event.Modified, &v.slice)
	})
	r := newRestarted(t, c)
	r.runUntil(400)
	r.stops = true
	r.restart(405)
	r.runUntil(900)
	if x := r.only(); x.State != incident.StateEnded {
		t.Errorf("%s", described(x))
	}
}

// TestKubeflapIsKilledEverySecond kills kubeflap again and again, before and after it knows whether its incident is
// ongoing.
func TestKubeflapIsKilledEverySecond(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for _, every := range []float64{61, 7, 1.5, 1, 0.5}[:few(5, 3)] {
		c := newFakeCluster(9).silence(300, 700, 5).single(5)
		r := newRestarted(t, c)
		r.runUntil(400)
		id := r.only().ID
		for at := 400.0; at < 690-every; at += every + 0.5 {
			r.restart(at + 0.5)
			r.runUntil(at + 0.5 + every)
			if x := r.only(); x.ID != id || x.State != incident.StateRunning || x.Outages != 1 {
				t.Fatalf("every %g: at %g %s, %d outages", every, at, described(x), x.Outages)
			}
		}
		r.runUntil(1000)
		x := r.only()
		if x.ID != id || x.State != incident.StateEnded || r.ends(id) != 1 || x.Outages != 1 || x.OutageTime > 370e9 {
			t.Errorf("every %g: %s %d ends, %d outages of %s", every, described(x), r.ends(id), x.Outages, x.OutageTime)
		}
		r.kill()
	}
}
