package main

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestRestartsKeepIncidentsApart compares kubeflap with one that was not restarted, in clusters with several incidents.
// At all times, both must show the same incidents with the same numbers, and report the end of each incident once.
func TestRestartsKeepIncidentsApart(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for name, c := range map[string]struct {
		cluster  func() *fakeCluster
		from, to float64
		looks    []float64
	}{
		"two zones are down": {func() *fakeCluster {
			return newFakeCluster(12).silence(300, 3000, 1, 4, 7, 10).silence(900, 1500, 2, 5, 8, 11)
		}, 1100, 1110, []float64{1112, 1300, 1900, 3500}},
		"another zone fails an hour later": {func() *fakeCluster {
			return newFakeCluster(12).silence(300, 9000, 1, 4, 7, 10).silence(4000, 4600, 2, 5, 8, 11)
		}, 400, 410, []float64{450, 4100, 5000, 9500}},
		"two nodes, one outage": {func() *fakeCluster {
			return newFakeCluster(9).silence(300, 3000, 1).silence(900, 1500, 2)
		}, 1100, 1110, []float64{1112, 1300, 1900, 3500}},
		"two causes in one Service": {func() *fakeCluster {
			c, pods := solo(4)
			c.notReady(pods[0], 360, 1500)
			c.at(370, func() {
				x := &pods[1].Containers[0]
				x.Restarts, x.ID, x.Started = x.Restarts+1, x.ID+"+", c.now
				pods[1].setReady(c, false, "ContainersNotReady")
			})
			c.at(1000, func() { pods[1].setReady(c, true, "") })
			return c
		}, 400, 405, []float64{406, 700, 1300, 1900}},
		"a new pod becomes ready": {func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[0], 360, 1500)
			c.at(395, func() {
				x := pods[0].service.start(c, c.nodes[6])
				c.sendToWatch(event.Added, &x.Pod)
				c.syncSoon(pods[0].service)
				c.at(425, func() { x.setReady(c, true, "") })
			})
			return c
		}, 400, 405, []float64{406, 450, 1300, 1900}},
		"an address is not ready for hours": {func() *fakeCluster {
			c, pods := solo(2)
			c.notReady(pods[0], 360, 20000)
			return c
		}, 400, 405, []float64{3900, 4200, 10000, 20200}},
		"it flaps again after the restart": {func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 395)
			c.notReady(pods[0], 490, 510)
			return c
		}, 400, 405, []float64{406, 480, 500, 800}},
		"an address that returned flaps again": {func() *fakeCluster {
			c, pods := solo(3)
			c.notReady(pods[0], 360, 900)
			c.notReady(pods[1], 440, 500)
			c.notReady(pods[1], 930, 950)
			return c
		}, 400, 405, []float64{450, 700, 905, 940, 1200}},
		"the verdict is revised after the end": {func() *fakeCluster {
			return newFakeCluster(12).silence(1000, 1400, 1).silence(1000, 1560, 11)
		}, 1753, 1760, []float64{1762, 1900}},
	} {
		t.Run(name, func(t *testing.T) {
			truth, r := newRestarted(t, c.cluster()), newRestarted(t, c.cluster())
			r.runUntil(c.from)
			r.stops = true
			r.restart(c.to)
			for _, at := range c.looks {
				truth.runUntil(at)
				r.runUntil(at)
				sameIncidents(t, at, truth.incidents(), r.incidents())
			}
			for _, x := range truth.incidents() {
				if a, b := truth.ends(x.ID), r.ends(x.ID); a != b {
					t.Errorf("the end of %s was reported %d times, want %d", x.Subject, b, a)
				}
			}
		})
	}
}

// ends returns how often the end of an incident was reported.
func (r *restarted) ends(id string) (n int) {
	for _, x := range r.reported {
		if x.Kind == incident.Ended && x.Incident.ID == id {
			n++
		}
	}
	return n
}

func sameIncidents(t *testing.T, at float64, want, got []incident.Incident) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("at %g s: %d incidents, want %d", at, len(got), len(want))
	}
	for _, x := range want {
		i := slices.IndexFunc(got, func(y incident.Incident) bool { return y.ID == x.ID })
		if i < 0 {
			t.Errorf("at %g s: %s of %s is missing", at, x.ID, x.Subject)
			continue
		}
		y := got[i]
		if y.State != x.State || !y.Start.Equal(x.Start) || y.Cause != x.Cause || y.Verdict != x.Verdict ||
			y.Lost != x.Lost || y.Outages != x.Outages || !slices.Equal(y.Nodes, x.Nodes) {
			t.Errorf("at %g s: got %s %s %v %v, %d lost, %d outages, %v: %s\nwant %s %s %v %v, %d lost, %d outages, %v: %s", at,
				y.State, y.Start, y.Cause, y.Verdict, y.Lost, y.Outages, y.Nodes, y.Summary,
				x.State, x.Start, x.Cause, x.Verdict, x.Lost, x.Outages, x.Nodes, x.Summary)
		}
		if (y.OutageTime-x.OutageTime).Abs() > 3*time.Second || y.End.Sub(x.End).Abs() > 2*time.Second {
			t.Errorf("at %g s: %s without a ready address, until %s; want %s, until %s", at, y.OutageTime, y.End, x.OutageTime, x.End)
		}
		if (y.Numbers.LongestInterval - x.Numbers.LongestInterval).Abs() > 30*time.Second {
			t.Errorf("at %g s: silent for %s, want %s", at, y.Numbers.LongestInterval, x.Numbers.LongestInterval)
		}
	}
}

// TestForbiddenNodesEndNoIncident restarts kubeflap when it is no longer allowed to see nodes. Nobody knows then
// whether the node is still silent.
func TestForbiddenNodesEndNoIncident(t *testing.T) {
	c := newFakeCluster(9).silence(300, 3000, 5)
	r := newRestarted(t, c)
	r.runUntil(400)
	r.kill()
	c.runUntil(410)
	r.begin()
	c.lacks(event.KindNode, event.ReasonForbidden)
	c.watch()
	r.runUntil(900)
	if x := r.only(); x.State != incident.StateRunning {
		t.Errorf("%s while nodes are forbidden: %s", x.State, x.Summary)
	}
	c.lacks(event.KindNode, "")
	c.list(event.KindNode)
	r.runUntil(3300)
	for _, x := range r.incidents() {
		if slices.Contains(x.Nodes, "node-5") && (x.State != incident.StateEnded || r.ends(x.ID) != 1 || x.End.Sub(storyBegin) < 50*time.Minute) {
			t.Errorf("%s at %s, reported %d times: %s", x.State, x.End, r.ends(x.ID), x.Summary)
		}
	}
}

// TestRandomRestarts restarts kubeflap at random times. It must not lose an incident, list one twice, or report its end
// twice.
func TestRandomRestarts(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	for seed := range uint64(few(40, 10)) {
		random := rand.New(rand.NewPCG(seed, 0))
		between := func(a, b int) float64 { return float64(a + random.IntN(b-a)) }
		c := newFakeCluster(12)
		for range 1 + random.IntN(3) {
			from := between(300, 1700)
			nodes := random.Perm(12)[:[]int{1, 1, 3, 6}[random.IntN(4)]]
			for i := range nodes {
				nodes[i]++
			}
			c.silence(from, from+between(45, 600), nodes...)
		}
		for range random.IntN(3) {
			from := between(300, 1700)
			pod := c.services[0].pods[random.IntN(len(c.services[0].pods))]
			c.notReady(pod, from, from+between(5, 500))
		}
		r := newRestarted(t, c)
		for _, at := range []float64{between(310, 1000), between(1100, 2000)} {
			r.runUntil(at)
			before := r.incidents()
			r.stops = random.IntN(2) == 0
			r.restart(at + between(1, 60))
			r.runUntil(r.cluster.second() + 5)
			r.checkHasAll(seed, before)
		}
		r.runUntil(2800)
		r.checkHasAll(seed, nil)
		for _, x := range r.incidents() {
			if r.ends(x.ID) != 1 || x.State != incident.StateEnded {
				t.Errorf("seed %d: %s of %s is %s, and its end was reported %d times", seed, x.ID, x.Subject, x.State, r.ends(x.ID))
			}
		}
		r.kill()
	}
}

// checkHasAll checks that the list contains all incidents from before, and none twice.
func (r *restarted) checkHasAll(seed uint64, before []incident.Incident) {
	r.t.Helper()
	seen := map[string]bool{}
	for _, x := range r.incidents() {
		for _, id := range append(x.Also, x.ID) {
			if seen[id] {
				r.t.Errorf("seed %d: two incidents have the ID %s", seed, id)
			}
			seen[id] = true
		}
	}
	for _, x := range before {
		if !seen[x.ID] {
			r.t.Errorf("seed %d: %s of %s is missing after the restart", seed, x.ID, x.Subject)
		}
	}
}
