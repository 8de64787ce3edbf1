package main

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// TestTwoZonesInTenMinutes: a zone fails and recovers, and its incident ends. kubeflap restarts. Another zone fails
// within the same ten minutes.
func TestTwoZonesInTenMinutes(t *testing.T) {
	restartStory{cluster: func() *fakeCluster {
		return newFakeCluster(12).silence(60, 130, 1, 4, 7, 10).silence(400, 500, 2, 5, 8, 11)
	}, restarts: [][2]float64{{300, 303}}, looks: []float64{299, 310, 450, 700}}.run(t)
}

// TestTheEarlierIncidentStays is like TestTwoZonesInTenMinutes, with another restart at the end.
func TestTheEarlierIncidentStays(t *testing.T) {
	t.Parallel()
	r := newRestarted(t, newFakeCluster(12).silence(60, 130, 1, 4, 7, 10).silence(400, 500, 2, 5, 8, 11))
	r.runUntil(300)
	first := r.only()
	r.stops = true
	r.restart(303)
	r.runUntil(1000)
	r.stops = true
	r.restart(1003)
	r.runUntil(1100)
	all := r.incidents()
	if len(all) != 2 || !slices.ContainsFunc(all, func(x incident.Incident) bool {
		return slices.Equal(x.Nodes, first.Nodes) && x.Start.Equal(first.Start)
	}) {
		t.Errorf("%d incidents, the one of %v from %s is lost", len(all), first.Nodes, first.Start.Sub(storyBegin))
	}
}

// TestASecondZoneSoonAfterTheFirst: a zone has recovered, but its incident has not ended. kubeflap restarts. Another
// zone fails.
func TestASecondZoneSoonAfterTheFirst(t *testing.T) {
	restartStory{cluster: func() *fakeCluster {
		return newFakeCluster(12).silence(60, 140, 1, 4, 7, 10).silence(190, 300, 2, 5, 8, 11)
	}, restarts: [][2]float64{{170, 173}}, looks: []float64{169, 180, 260, 295, 600}}.run(t)
}

// TestASecondZoneWhileTwoNodesOfTheFirstAreSilent: two nodes of a zone are still silent when kubeflap restarts. Then
// another zone fails.
func TestASecondZoneWhileTwoNodesOfTheFirstAreSilent(t *testing.T) {
	restartStory{cluster: func() *fakeCluster {
		return newFakeCluster(12).silence(60, 150, 7, 10).silence(60, 2000, 1, 4).silence(300, 900, 2, 5, 8, 11)
	}, restarts: [][2]float64{{200, 203}}, looks: []float64{199, 210, 380, 800, 1200, 2400}}.run(t)
}

// TestTheGracePeriodIsTooShort restarts kubeflap during a long incident in which single nodes flap all the time.
func TestTheGracePeriodIsTooShort(t *testing.T) {
	restartStory{
		cluster:  func() *fakeCluster { return newFakeCluster(9).withManager(10 * time.Second) },
		restarts: [][2]float64{{1500, 1502}}, looks: []float64{1499, 1540, 1600, 1900, 2500}[:few(5, 3)],
	}.run(t)
}

// TestNodeAfterNodeSlowly restarts kubeflap between the silences of nodes that fall silent one after another. Each
// incident ends before the next one.
func TestNodeAfterNodeSlowly(t *testing.T) {
	cluster := func() *fakeCluster {
		c := newFakeCluster(20)
		for i := range 14 {
			at := 200 + 190*float64(i)
			c.silence(at, at+75, i+1)
		}
		return c
	}
	restartStory{cluster: cluster, restarts: [][2]float64{{1430, 1434}}, looks: []float64{1429, 1437, 1500, 1900, 3500}}.run(t)
}

// TestTheControllerManagerStandsStillTwice restarts kubeflap between two pauses of the controller manager that form
// one incident.
func TestTheControllerManagerStandsStillTwice(t *testing.T) {
	restartStory{
		cluster: func() *fakeCluster { return newFakeCluster(9).stops(1100, 1160).stops(1190, 1250) }, restarts: [][2]float64{{1180, 1185}},
		looks: []float64{1179, 1188, 1260, 1600},
	}.run(t)
}

// TestANodeOfTheZoneFailsAgain: a zone is silent. One of its nodes is back before kubeflap restarts, and fails again
// afterwards, while the others are still silent.
func TestANodeOfTheZoneFailsAgain(t *testing.T) {
	restartStory{cluster: func() *fakeCluster {
		return newFakeCluster(12).silence(300, 1500, 3, 6, 9).silence(300, 400, 12).silence(700, 900, 12)
	}, restarts: [][2]float64{{430, 440}}, looks: []float64{429, 450, 600, 800, 1400, 1900}}.run(t)
}

// TestAZoneFlaps: a zone is silent twice within the time after which its incident would end. kubeflap restarts in
// between.
func TestAZoneFlaps(t *testing.T) {
	for name, x := range map[string][2]float64{"in the same ten minutes": {0, 0}, "later": {200, 0}} {
		t.Run(name, restartStory{cluster: func() *fakeCluster {
			return newFakeCluster(12).silence(300+x[0], 380+x[0], 3, 6, 9, 12).silence(430+x[0], 520+x[0], 3, 6, 9, 12)
		}, restarts: [][2]float64{{410 + x[0], 413 + x[0]}}, looks: []float64{409 + x[0], 420 + x[0], 500 + x[0], 900 + x[0]}}.run)
	}
}

// TestANodeOfTheZoneFailsHoursLater: one node of a zone stays away for hours. Another node of the zone was back before
// kubeflap restarted, and fails again hours later, alone or together with another zone.
func TestANodeOfTheZoneFailsHoursLater(t *testing.T) {
	zone := func() *fakeCluster { return newFakeCluster(12).silence(300, 16000, 3).silence(300, 500, 6, 9, 12) }
	for name, story := range map[string]restartStory{
		"alone": {
			cluster:  func() *fakeCluster { return zone().silence(9000, 9400, 9) },
			restarts: [][2]float64{{700, 710}, {8000, 8010}}, looks: []float64{699, 800, 5000, 9200, 10000, 17000},
		},
		"with another zone": {
			cluster:  func() *fakeCluster { return zone().silence(3000, 3600, 12, 1, 4, 7, 10) },
			restarts: [][2]float64{{700, 710}}, looks: []float64{699, 800, 2900, 3300, 4000},
		},
	} {
		t.Run(name, story.run)
	}
}

// TestThreeOutagesInOneIncident restarts kubeflap in the first of three outages of a Service.
func TestThreeOutagesInOneIncident(t *testing.T) {
	restartStory{cluster: func() *fakeCluster {
		return newFakeCluster(9).silence(300, 600, 5).silence(650, 900, 5).silence(930, 1200, 5).single(5)
	}, restarts: [][2]float64{{500, 505}}, looks: []float64{499, 520, 640, 800, 1100, 1600}}.run(t)
}
