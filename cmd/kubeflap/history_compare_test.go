package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// solo returns a cluster with a Service of several pods, and these pods.
func solo(pods int) (*fakeCluster, []*fakePod) {
	c := newFakeCluster(9)
	service := c.service("solo", true)
	for i := range pods {
		service.start(c, c.nodes[i]).serve()
	}
	service.fill()
	return c, service.pods
}

// notReady makes a pod not ready between two times.
func (s *fakeCluster) notReady(p *fakePod, from, to float64) {
	s.at(from, func() { p.setReady(s, false, "ContainersNotReady") })
	s.at(to, func() { p.setReady(s, true, "") })
}

// TestRestartsChangeNoIncident compares kubeflap with one that was not restarted, at times at which both must show the
// same: one incident, its state, and whether the Service has a ready address. The outage time may differ by the time in
// which kubeflap was not running.
func TestRestartsChangeNoIncident(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for name, c := range map[string]struct {
		cluster  func() *fakeCluster
		restarts [][2]float64
		looks    []float64
	}{
		"two restarts in an outage": {func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 1205)
			return c
		}, [][2]float64{{400, 405}, {1200, 1210}}, []float64{390, 1199, 1500}},
		"the last address is lost during the restart": {func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, 800)
			c.notReady(pods[1], 405, 800)
			return c
		}, [][2]float64{{400, 410}}, []float64{399, 420, 700, 1100}},
		"a recovered Service is lost during the restart": {func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 400)
			c.notReady(pods[0], 410, 1500)
			return c
		}, [][2]float64{{405, 430}}, []float64{404, 440, 700, 1400, 1800}},
		"another address is lost later": {func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[0], 360, 2000)
			c.notReady(pods[1], 900, 1000)
			return c
		}, [][2]float64{{400, 405}}, []float64{399, 800, 950, 1500, 2300}},
		"the last address is lost later": {func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, 2000)
			c.notReady(pods[1], 900, 1000)
			return c
		}, [][2]float64{{400, 405}}, []float64{399, 800, 950, 1500, 2300}},
		"another pod was never ready": {func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[2], 1, forever)
			c.notReady(pods[0], 360, 450)
			return c
		}, [][2]float64{{400, 405}}, []float64{399, 440, 700}},
		"the pods return long after their node": {func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 400, 5)
			c.at(360, func() {
				for _, p := range c.podsOn(c.nodes[4]) {
					p.Ready.Reason = "ContainersNotReady"
				}
			})
			c.at(900, func() {
				for _, p := range c.podsOn(c.nodes[4]) {
					p.setReady(c, true, "")
				}
			})
			return c
		}, [][2]float64{{420, 425}}, []float64{419, 480, 800, 1200}},
		"the address flaps again soon after the restart": {func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 440)
			c.notReady(pods[0], 500, 520)
			return c
		}, [][2]float64{{400, 405}}, []float64{399, 430, 510, 800}},
	} {
		t.Run(name, func(t *testing.T) {
			truth, r := newRestarted(t, c.cluster()), newRestarted(t, c.cluster())
			away, next := time.Duration(0), 0
			for _, at := range c.looks {
				for ; next < len(c.restarts) && c.restarts[next][0] < at; next++ {
					from, to := c.restarts[next][0], c.restarts[next][1]
					r.runUntil(from)
					r.stops = true
					r.restart(to)
					away += time.Duration((to - from) * float64(time.Second))
				}
				truth.runUntil(at)
				r.runUntil(at)
				compareIncidents(t, at, truth.only(), r.only(), away)
			}
		})
	}
}

func compareIncidents(t *testing.T, at float64, want, got incident.Incident, away time.Duration) {
	t.Helper()
	running := func(x incident.Incident) bool { return x.State == incident.StateRunning }
	if got.ID != want.ID || !got.Start.Equal(want.Start) || running(got) != running(want) {
		t.Errorf("at %g s: %s from %s %s, want %s from %s %s", at, got.ID, got.Start, got.State, want.ID, want.Start, want.State)
	}
	if (got.OutageTime - want.OutageTime).Abs() > away+3*time.Second {
		t.Errorf("at %g s: outages of %s, want %s: %s", at, got.OutageTime, want.OutageTime, got.Summary)
	}
	down := func(x incident.Incident) (all []string) {
		for _, s := range x.Services {
			if s.Down {
				all = append(all, s.Name)
			}
		}
		return all
	}
	if a, b := down(got), down(want); len(a) != len(b) {
		t.Errorf("at %g s: %v without a ready address, want %v", at, a, b)
	}
}

// TestTheSilenceDoesNotShrink restarts kubeflap long after the start of an incident of nodes.
func TestTheSilenceDoesNotShrink(t *testing.T) {
	withoutRaceDetector(t)
	for name, nodes := range map[string][]int{"one node": {5}, "three nodes": {4, 5, 6}} {
		t.Run(name, func(t *testing.T) {
			r := newRestarted(t, newFakeCluster(12).silence(300, 4000, nodes...))
			r.runUntil(2010)
			before := r.only().Numbers.LongestInterval
			r.stops = true
			r.restart(2020)
			for _, at := range []float64{2022, 2100, 3900} {
				if r.runUntil(at); r.only().Numbers.LongestInterval < before {
					t.Errorf("at %g s: %s, before the restart %s", at, r.only().Numbers.LongestInterval, before)
				}
			}
		})
	}
}

// TestAnIDOpensTheIncidentThatItWasMergedInto restarts kubeflap before the incidents of three nodes become one.
func TestAnIDOpensTheIncidentThatItWasMergedInto(t *testing.T) {
	r := newRestarted(t, newFakeCluster(12).silence(300, 600, 4, 5).silence(330, 480, 6).single(5))
	r.runUntil(334)
	r.restart(336)
	r.runUntil(602)
	shown := map[string]bool{}
	for _, x := range r.incidents() {
		shown[x.ID] = true
	}
	for _, n := range r.reported {
		if x, ok := r.pipeline.cluster("").Incident(n.Incident.ID); !ok || !shown[x.ID] {
			t.Errorf("%s opens %v %s, which is not in the list", n.Incident.ID, ok, x.ID)
		}
	}
}

// TestAShortReturnEndsTheOutage: after a restart, an address returns for less than a second. The outage before and the
// one after must not be counted twice.
func TestAShortReturnEndsTheOutage(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for _, offset := range []float64{0.25, 0, 0.5, 0.75}[:few(4, 1)] {
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
