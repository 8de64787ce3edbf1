package main

import "github.com/kubeflap/kubeflap/exporter/event"

// breaksAll makes all of kubeflap's watches fail at the start of a period, and list again at its end.
func (s *fakeCluster) breaksAll(from, to float64) *fakeCluster {
	for _, k := range append(event.Kinds(), event.KindControlPlaneLease) {
		s.breaks(k, from, to, event.ReasonRefused)
	}
	return s
}

// untilListed is the reason for an undecided verdict about nodes that fell silent while kubeflap's watches were broken.
// Their heartbeats may still arrive within a grace period after the break.
const untilListed = "kubeflap's watches were broken, and it waits for heartbeats for a grace period"

// storiesOfBreaks returns stories about outages that start, end or continue while kubeflap's own watches are broken.
func storiesOfBreaks() []scenario {
	return []scenario{
		{
			name:     "etcd takes no writes for 200 s, and kubeflap's watches break meanwhile",
			cluster:  func() *fakeCluster { return newFakeCluster(9).stall(300, 500).breaksAll(310, 420) },
			expected: []expectation{{468, "shared_path " + all9}, {700, "shared_path " + all9}},
			open:     untilListed,
			evidence: []string{"9 of 9 nodes fell silent within", "for up to 3m31s", "no heartbeat for 20s (half of the grace period)"},
			lacks:    []string{"proves nothing"},
			advice:   "control_plane_late " + all9,
		},
		{
			name:     "etcd takes no writes for 200 s, and kubeflap's watches break after the nodes were lost",
			cluster:  func() *fakeCluster { return newFakeCluster(9).stall(300, 500).breaksAll(350, 420) },
			expected: []expectation{{349, "shared_path " + all9}, {700, "shared_path " + all9}},
			open:     untilAThird,
			advice:   "control_plane_late " + all9,
		},
		{
			name:     "three of nine nodes fall silent while kubeflap's watches are broken, and stay so",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(330, forever, 1, 4, 7).breaksAll(310, 420) },
			expected: []expectation{{465, "shared_path 1,4,7"}, {900, "shared_path 1,4,7"}},
			open:     untilListed,
			evidence: []string{"they are the only nodes with topology.kubernetes.io/zone=a"},
			advice:   "control_plane_late 1,4,7",
		},
		{
			name: "three of nine nodes fall silent while kubeflap's watch of Leases is broken, and return later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(330, 500, 1, 4, 7).breaks(event.KindLease, 310, 420, event.ReasonTimeout)
			},
			expected: []expectation{{465, "shared_path 1,4,7"}, {700, "shared_path 1,4,7"}},
			open:     untilListed,
			evidence: []string{"heartbeats resumed after 3m01s"},
			advice:   "control_plane_late 1,4,7",
		},
		{
			name:     "a node falls silent while kubeflap's watches are broken",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(330, forever, 5).breaksAll(310, 420) },
			expected: []expectation{{465, "node 5"}, {900, "node 5"}},
			open:     untilListed,
			advice:   "nodes_silent 5",
		},
		{
			name: "kubeflap's watch of nodes stands still, and a node dies",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, forever, 5).freezes(event.KindNode, 290, 500)
			},
			expected: []expectation{{365, "node 5"}, {495, "node 5"}, {700, "node 5"}},
			evidence: []string{"shop/web lost 1 ready address"},
			advice:   "nodes_silent 5",
		},
		{
			name: "two nodes fall silent and return while kubeflap's watches are broken, and a third one stays silent",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(330, 400, 1, 4).silence(330, forever, 7).breaksAll(310, 420)
			},
			expected: []expectation{{465, "undecided 1; undecided 4; undecided 7"}, {900, "undecided 1; undecided 4; undecided 7"}},
			open:     "whether they fell silent together is not known, as kubeflap's watches were broken",
			advice:   "undecided 1,4,7",
		},
	}
}
