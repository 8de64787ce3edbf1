package main

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// starts returns kubeflap's start times in seconds. The outages begin at second 300. The times fall before the first
// node is late, after nodes exceed the grace period, when some or all nodes are Unknown, and many minutes later.
func starts() []float64 { return []float64{301, 330, 337, 342, 345, 350, 420, 610, 900, 4200} }

// startedLater returns a copy of a story for each of kubeflap's start times.
func startedLater(all []float64, x scenario, soon, last string, within float64) (stories []scenario) {
	cluster := x.cluster
	for _, from := range all {
		y := x
		y.name = fmt.Sprintf("%s; kubeflap starts at %g", x.name, from)
		y.cluster = func() *fakeCluster { return cluster().watchedFrom(from) }
		y.expected = []expectation{{max(from, 345) + within, soon}, {max(from, 345) + 300, last}}
		stories = append(stories, y)
	}
	return stories
}

// storiesOfStarts returns stories about outages that are ongoing when kubeflap starts and do not end.
func storiesOfStarts() (all []scenario) {
	all = append(all, startedLater(starts(), scenario{
		name:     "three of nine nodes fell silent within ten seconds",
		cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, forever, 1, 4, 7) },
		open:     untilAThird,
		evidence: []string{"they are the only nodes with topology.kubernetes.io/zone=a", "3 of 9 nodes fell silent together"},
		advice:   "control_plane_late 1,4,7",
	}, "shared_path 1,4,7", "shared_path 1,4,7", 12)...)
	all = append(all, startedLater(starts(), scenario{
		name:     "etcd takes no write for hours",
		cluster:  func() *fakeCluster { return newFakeCluster(9).stall(300, 20000) },
		open:     untilAThird,
		evidence: []string{"9 of 9 nodes fell silent together", "the API server could not read Leases (etcd not ready)"},
		advice:   "control_plane_late " + all9,
	}, "shared_path "+all9, "shared_path "+all9, 20)...)
	all = append(all, startedLater(starts(), scenario{
		name:     "a node went down and stays down",
		cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, forever, 5) },
		evidence: []string{"the other 8 nodes"},
		advice:   "nodes_silent 5",
	}, "node 5", "node 5", 12)...)
	all = append(all, startedLater(starts(), scenario{
		name:    "two of twenty fell silent together and do not return",
		cluster: func() *fakeCluster { return newFakeCluster(20).silence(300, forever, 3, 9) },
		open:    "two nodes that are silent at the same time can be chance, until they return",
		advice:  "undecided 3,9",
	}, "undecided 3; undecided 9", "undecided 3; undecided 9", 12)...)
	return append(all, storiesOfStartsAndReturns()...)
}

// storiesOfStartsAndReturns returns stories about outages that end after kubeflap starts.
func storiesOfStartsAndReturns() []scenario {
	fiveMinutes := func(from float64) scenario {
		return scenario{
			name:     fmt.Sprintf("a node is silent for five minutes; kubeflap starts at %g", from),
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 600, 5).watchedFrom(from) },
			expected: []expectation{{max(from, 345) + 15, "node 5"}, {650, "node 5"}},
			evidence: []string{"Node node-5 sent no heartbeat for 5m09s", "node-5: heartbeats resumed after 5m09s", "the other 8 nodes"},
			advice:   "nodes_silent 5",
		}
	}
	return []scenario{
		fiveMinutes(301), fiveMinutes(330), fiveMinutes(342), fiveMinutes(345), fiveMinutes(420), fiveMinutes(590),
		{
			name:     "etcd takes no write for five minutes; kubeflap starts meanwhile",
			cluster:  func() *fakeCluster { return newFakeCluster(9).stall(300, 600).watchedFrom(345) },
			expected: []expectation{{365, "shared_path " + all9}, {650, "shared_path " + all9}},
			open:     untilAThird,
			evidence: []string{"9 of 9 nodes fell silent together, for up to 5m1", "9 nodes (node-3 first): heartbeats resumed after 5m1"},
			advice:   "control_plane_late " + all9,
		},
		{
			name:     "two of twenty fell silent together and return together; kubeflap starts meanwhile",
			cluster:  func() *fakeCluster { return newFakeCluster(20).silence(300, 600, 3, 9).watchedFrom(420) },
			expected: []expectation{{425, "undecided 3; undecided 9"}, {620, "shared_path 3,9"}, {800, "shared_path 3,9"}},
			open:     "two nodes that are silent at the same time can be chance, until they return",
			evidence: []string{"the verdict was revised from undecided to shared_path"},
			advice:   "control_plane_late 3,9",
		},
		{
			name:     "an outage of five minutes is over when kubeflap starts",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 600, 1, 4, 7).watchedFrom(620) },
			expected: []expectation{{640, ""}, {900, ""}},
		},
		{
			name:     "etcd takes writes again when kubeflap lists, and no node has renewed yet",
			cluster:  func() *fakeCluster { return newFakeCluster(9).stall(300, 600).watchedFrom(600.01) },
			expected: []expectation{{620, ""}, {900, ""}},
		},
		{
			name: "a node's clock is three minutes behind when kubeflap starts",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).sets(5, 3, -3*time.Minute).watchedFrom(420)
			},
			expected: []expectation{{421, ""}, {440, ""}, {700, ""}},
		},
		{
			name: "a node whose clock is three minutes behind is silent when kubeflap starts",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).sets(5, 3, -3*time.Minute).silence(300, 600, 3).watchedFrom(420)
			},
			expected: []expectation{{425, "node 3"}, {700, "node 3"}},
			evidence: []string{"node-3: heartbeats resumed after 5m"},
			advice:   "nodes_silent 3",
		},
		{
			name: "two nodes of a zone are back when kubeflap starts, the third is not",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, 400, 1, 4).silence(300, forever, 7).watchedFrom(420)
			},
			expected: []expectation{{425, "undecided 7"}, {900, "undecided 7"}},
			open:     "what happened to the others is not known, as kubeflap started later",
			evidence: []string{"2 other nodes turned Ready after node-7 fell silent"},
			advice:   "undecided 7",
		},
		{
			name: "two nodes went down by themselves, an hour apart, before kubeflap starts",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, forever, 2).silence(3900, forever, 6).watchedFrom(7200)
			},
			expected: []expectation{{7205, "node 2; node 6"}, {7500, "node 2; node 6"}},
			advice:   "nodes_silent 2,6",
		},
		{
			name: "a zone went down, and another node by itself, before kubeflap starts",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, forever, 1, 4, 7).silence(900, forever, 8).watchedFrom(1200)
			},
			expected: []expectation{{1205, "node 8; shared_path 1,4,7"}, {1500, "node 8; shared_path 1,4,7"}},
			advice:   "control_plane_late 1,4,7; nodes_silent 8",
		},
		{
			name: "the controller manager stands still for 60 s and goes on; kubeflap starts when all nodes are Unknown",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).stops(300, 360).watchedFrom(360.9)
			},
			expected: []expectation{{361, "undecided 1; undecided 2; undecided 3; undecided 4; undecided 5; undecided 6; undecided 7; undecided 8; undecided 9"}},
			open:     "the marks were before kubeflap started, and heartbeats arrive",
			advice:   "undecided " + all9,
		},
		{
			name: "a node is cordoned and silent when kubeflap starts",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).cordon(290, 5).silence(300, forever, 5).watchedFrom(420)
			},
			expected: []expectation{{425, "undecided 5"}, {900, "undecided 5"}},
			open:     "whether it was cordoned before the silence is not known, as kubeflap started later",
			evidence: []string{"a cordon when kubeflap started"},
			advice:   "undecided 5",
		},
		{
			name: "four nodes that an autoscaler removes are silent when kubeflap starts",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for i := 1; i <= 4; i++ {
					c.taint(290, i, "ToBeDeletedByClusterAutoscaler").silence(300, forever, i).deletes(480, i)
				}
				return c.watchedFrom(420)
			},
			expected: []expectation{{425, "undecided 1; undecided 2; undecided 3; undecided 4"}, {700, "undecided 1; undecided 2; undecided 3; undecided 4"}},
			open:     "whether they were tainted before the silence is not known, as kubeflap started later",
		},
		{
			name: "without Leases, a node is Unknown when kubeflap starts",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).withoutLeases(10*time.Second).silence(300, 600, 5).watchedFrom(420)
			},
			expected: []expectation{{425, "undecided 5"}, {700, "undecided 5"}},
			open:     "kubeflap has not seen how regular the status reports were",
			advice:   "undecided 5",
		},
		{
			name: "kubeflap may not see Leases, and a node is Unknown when it starts",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).lacks(event.KindLease, event.ReasonForbidden).silence(300, 600, 5).watchedFrom(420)
			},
			expected: []expectation{{425, "undecided 5"}, {700, "undecided 5"}},
			open:     "reports that are 5 minutes apart do not show when the heartbeats ended",
			advice:   "undecided 5",
		},
		{
			name: "the node controller leaves a silent node Ready, and kubeflap starts meanwhile",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).withManager(seconds(40)).showsControlPlane(1).silence(300, forever, 5).watchedFrom(420)
				c.manager.holdsBack = []span{{0, forever}}
				return c
			},
			expected: []expectation{{440, "node 5"}, {600, "controller_manager 5"}},
			advice:   "controller_manager_slow 5",
		},
		{
			name: "a machine restarts, and kubeflap starts meanwhile",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).reboots(300, 480, 5).watchedFrom(420)
			},
			expected: []expectation{{425, "node 5"}, {700, "node_rebooted 5"}},
			advice:   "nodes_rebooted 5",
		},
	}
}
