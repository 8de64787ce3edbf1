package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestRestartsBeforeTheStoryGoesOn restarts kubeflap during an incident that changes after the restart: other nodes
// fail, or the reason of the failure becomes visible.
func TestRestartsBeforeTheStoryGoesOn(t *testing.T) {
	for name, c := range map[string]restartStory{
		"a recovered node fails again with others": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 420, 12).silence(470, 700, 3, 6, 9, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 600, 690, 900}},
		"a silent node, then others": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1000, 12).silence(600, 1000, 3, 6, 9)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 700, 990, 1300}},
		"a silent zone, then another node": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1000, 3, 6, 9).silence(600, 900, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 700, 990, 1300}},
		"a silent zone, one returns and fails again": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300, 1000, 3, 6, 9).silence(300, 500, 12).silence(700, 900, 12)
		}, restarts: [][2]float64{{430, 440}}, looks: []float64{442, 600, 800, 1300}},
		"not ready instead of Unknown": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).single(5)
			c.at(300, func() { c.setReady(c.nodes[4], event.StatusFalse, "KubeletNotReady") })
			return c.at(900, func() { c.setReady(c.nodes[4], event.StatusTrue, "KubeletReady") })
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"not ready, back in the gap": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).single(5)
			c.at(300, func() { c.setReady(c.nodes[4], event.StatusFalse, "KubeletNotReady") })
			return c.at(505, func() { c.setReady(c.nodes[4], event.StatusTrue, "KubeletReady") })
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 530, 900}},
		"without Leases": {cluster: func() *fakeCluster {
			c := newFakeCluster(9).silence(300, 1000, 5)
			c.leases = false
			return c
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"upgraded after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).upgrades(300, 900, 5)
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"drained after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).silence(300, 1000, 5).drains(700, 5)
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"the whole cluster": {cluster: func() *fakeCluster {
			return newFakeCluster(9).stall(300, 900)
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 800, 1300}},
		"the whole cluster, two restarts": {cluster: func() *fakeCluster {
			return newFakeCluster(9).stall(300, 1500)
		}, restarts: [][2]float64{{500, 510}, {700, 710}}, looks: []float64{499, 512, 712, 730, 1400, 1900}},
		"the Service is recreated after the restart": {cluster: func() *fakeCluster {
			c, pods := solo(1)
			c.notReady(pods[0], 360, 2000)
			v := pods[0].service
			c.deletesService(700, v)
			return c.at(730, func() {
				c.services = append(c.services, v)
				v.UID = event.ParseUID("again")
				c.sendToWatch(event.Added, &v.Service)
				c.syncSoon(v)
			})
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 690, 720, 1000, 1900, 2300}},
		"the pod is deleted, the UID is used again": {cluster: func() *fakeCluster {
			c, pods := solo(2)
			p := pods[0]
			c.notReady(p, 360, 900)
			c.at(600, func() { c.sendToWatch(event.Deleted, &p.Pod); c.sendToWatch(event.Added, &p.Pod) })
			return c
		}, restarts: [][2]float64{{500, 510}}, looks: []float64{499, 512, 700, 1300}},
		"reboots after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(9).reboots(300, 2000, 5)
		}, restarts: [][2]float64{{900, 910}}, looks: []float64{912, 1900, 2500}},
		"two incidents become one after the restart": {cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(1222, 3652, 8, 12)
		}, restarts: [][2]float64{{2000, 2010}}, looks: []float64{2100, 3600, 4201}},
	} {
		t.Run(name, c.run)
	}
}

// TestTheLongestSilenceSurvivesRestarts restarts kubeflap when only one of the nodes of an incident is still silent.
func TestTheLongestSilenceSurvivesRestarts(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	cluster := func() *fakeCluster { return newFakeCluster(12).silence(1324, 4044, 5).silence(1324, 3161, 11, 8) }
	for name, restarts := range map[string][][2]float64{"one": {{3317.5, 3320.5}}, "early": {{1772.5, 1773}}, "two": {{1772.5, 1773}, {3317.5, 3320.5}}} {
		t.Run(name, func(t *testing.T) {
			truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
			for _, x := range restarts {
				r.runUntil(x[0])
				r.stops = true
				r.restart(x[1])
			}
			truth.runUntil(4600)
			r.runUntil(4600)
			a, b := truth.only(), r.only()
			if (a.Numbers.LongestInterval - b.Numbers.LongestInterval).Abs() > 30*time.Second {
				t.Errorf("silent for %s, want %s: %s", b.Numbers.LongestInterval, a.Numbers.LongestInterval, b.Summary)
			}
		})
	}
}

// TestAnOutageOfANodeBeginsDuringTheRestart restarts kubeflap during the incident of a node. A Service of this incident
// loses its last ready address while kubeflap is not running, and still lists addresses.
func TestAnOutageOfANodeBeginsDuringTheRestart(t *testing.T) {
	c := newFakeCluster(9).silence(300, 2000, 5)
	v := c.service("solo", true)
	v.start(c, c.nodes[4]).serve()
	v.start(c, c.nodes[7]).serve()
	v.fill()
	c.notReady(v.pods[1], 504, 1200)
	r := newRestarted(t, c)
	r.runUntil(500)
	r.stops = true
	r.restart(510)
	r.runUntil(1000)
	outages, down := 0, 0
	for _, x := range r.incidents() {
		outages += x.Outages
		for _, s := range x.Services {
			if s.Down && s.Name == "solo" {
				down++
			}
		}
	}
	if outages != 1 || down != 1 {
		t.Errorf("%d outages, and %d of solo go on", outages, down)
	}
}

// TestARestartWithMoreNodesThanAnIncidentLists restarts kubeflap in an incident with more nodes than an incident lists.
func TestARestartWithMoreNodesThanAnIncidentLists(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	var most, few []int
	for i := range 130 {
		if most = append(most, i+1); i >= 125 {
			few = append(few, i+1)
		}
	}
	cluster := func() *fakeCluster {
		return newFakeCluster(140).silence(300, 700, most[:125]...).silence(300, 1500, few...)
	}
	truth, r := newRestarted(t, cluster()), newRestarted(t, cluster())
	r.runUntil(500)
	r.stops = true
	r.restart(510)
	for i, at := range []float64{515, 650, 900, 1400, 1900} {
		if i == 2 {
			r.runUntil(800)
			r.restart(805)
		}
		truth.runUntil(at)
		r.runUntil(at)
		if a, b := truth.incidents(), r.incidents(); len(a) != len(b) || a[0].ID != b[0].ID || a[0].State != b[0].State || len(a[0].Nodes)+a[0].NodesLeftOut != len(b[0].Nodes)+b[0].NodesLeftOut {
			t.Errorf("at %g: got %d incidents, the first is %s, want %d, %s", at, len(b), described(b[0]), len(a), described(a[0]))
		}
	}
}
