package main

const (
	all9        = "1,2,3,4,5,6,7,8,9"
	untilAThird = "two nodes that are silent at the same time can be chance, until a third follows"
)

const (
	zoneA = "topology.kubernetes.io/zone=a"
	zoneB = "topology.kubernetes.io/zone=b"
)

// storiesOfHeartbeats returns stories about silent nodes: one node, several nodes at once, and one node after another.
func storiesOfHeartbeats() []scenario {
	return []scenario{
		{
			name:     "a healthy quarter of an hour",
			cluster:  func() *fakeCluster { return newFakeCluster(9) },
			expected: []expectation{{900, ""}},
		},
		{
			name: "the first post: a kubelet reports every 20 to 50 s, the node controller waits 40 s",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).slow(2, 300, 20, 35, 49, 28, 46, 22, 50)
			},
			expected: []expectation{{300, ""}, {405, "node 2"}, {700, "node 2"}},
			evidence: []string{"the other 8 nodes sent their heartbeats on time"},
			advice:   "grace_period_tight; nodes_slow 2",
		},
		{
			name:     "a node is silent for the 40.03 s of the first post",
			cluster:  func() *fakeCluster { return newFakeCluster(9).slow(1, 300, 49.2) },
			expected: []expectation{{358, "node 1"}, {450, "node 1"}},
			advice:   "grace_period_tight; nodes_slow 1",
		},
		{
			name:     "a node goes down and stays down",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, forever, 5) },
			expected: []expectation{{345, "node 5"}, {900, "node 5"}},
			advice:   "nodes_silent 5",
		},
		{
			name:     "three of nine nodes fall silent within ten seconds",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, forever, 1, 4, 7) },
			expected: []expectation{{330, ""}, {345, "shared_path 1,4,7"}, {480, "shared_path 1,4,7"}},
			open:     untilAThird,
			evidence: []string{"they are the only nodes with topology.kubernetes.io/zone=a"},
			advice:   "control_plane_late 1,4,7",
		},
		{
			name:     "the third post: etcd is overloaded, a third of the nodes is late by 2m5.7s",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 425.7, 2, 3, 4) },
			expected: []expectation{{345, "shared_path 2,3,4"}, {500, "shared_path 2,3,4"}},
			open:     untilAThird,
			evidence: []string{"no label distinguishes them"},
			advice:   "control_plane_late 2,3,4",
		},
		{
			name:     "all nodes fall silent for 50 s, as etcd takes no write",
			cluster:  func() *fakeCluster { return newFakeCluster(9).stall(300, 350) },
			expected: []expectation{{346, "shared_path " + all9}, {500, "shared_path " + all9}},
			open:     untilAThird,
			advice:   "control_plane_late " + all9,
		},
		{
			name: "one API server is lost, with a third of thirty kubelets",
			cluster: func() *fakeCluster {
				c := newFakeCluster(30).showsControlPlane(3)
				c.manager.lost[2] = 300
				return c.silence(300, 360, 1, 5, 9, 11, 14, 15, 20, 22, 26, 30)
			},
			expected: []expectation{{346, "shared_path 1,11,14,15,20,22,26,30,5,9"}, {500, "shared_path 1,11,14,15,20,22,26,30,5,9"}},
			open:     untilAThird,
			evidence: []string{"no label distinguishes them"},
			advice:   "control_plane_late 1,11,14,15,20,22,26,30,5,9",
		},
		{
			name: "node after node, eight of nine within an hour",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for i := range 8 {
					at := 300 + float64(i)*400
					c.silence(at, at+55, i+1)
				}
				return c
			},
			expected: []expectation{{350, "node 1"}, {750, "node 1; node 2"}, {3300, "shared_path 1; shared_path 2; shared_path 3; shared_path 4; shared_path 5; shared_path 6; shared_path 7; shared_path 8"}, {10800, "shared_path 1; shared_path 2; shared_path 3; shared_path 4; shared_path 5; shared_path 6; shared_path 7; shared_path 8"}},
			evidence: []string{"the verdict was revised from node to shared_path", "8 nodes fell silent one after another within an hour"},
			advice:   "control_plane_late 1,2,3,4,5,6,7,8",
		},
		{
			name:     "two of twenty fall silent together and return together",
			cluster:  func() *fakeCluster { return newFakeCluster(20).silence(300, 360, 3, 9) },
			expected: []expectation{{350, "undecided 3; undecided 9"}, {370, "shared_path 3,9"}, {600, "shared_path 3,9"}},
			open:     "two nodes that are silent at the same time can be chance, until they return",
			evidence: []string{"the verdict was revised from undecided to shared_path"},
			advice:   "control_plane_late 3,9",
		},
		{
			name:     "two of twenty fall silent together and return far apart",
			cluster:  func() *fakeCluster { return newFakeCluster(20).silence(300, 360, 3).silence(300, 700, 9) },
			expected: []expectation{{350, "undecided 3; undecided 9"}, {900, "node 3; node 9"}},
			open:     "two nodes that are silent at the same time can be chance, until they return",
			advice:   "grace_period_tight; nodes_silent 9; nodes_slow 3",
		},
		{
			name:     "two of twenty fall silent together and do not return",
			cluster:  func() *fakeCluster { return newFakeCluster(20).silence(300, forever, 3, 9) },
			expected: []expectation{{350, "undecided 3; undecided 9"}, {600, "undecided 3; undecided 9"}},
			open:     "two nodes that are silent at the same time can be chance, until they return",
			advice:   "undecided 3,9",
		},
		{
			name: "two unrelated slow kubelets on one day",
			cluster: func() *fakeCluster {
				return newFakeCluster(20).slow(3, 300, 48).slow(9, 3*3600, 49).slow(3, 5*3600, 48)
			},
			expected: []expectation{{400, "node 3"}, {3*3600 + 100, "node 3; node 9"}, {5*3600 + 100, "node 3; node 9"}},
			advice:   "grace_period_tight; nodes_slow 3,9",
		},
		{
			name:     "a second node falls silent twenty minutes after the first",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 360, 3).silence(1500, 1560, 6) },
			expected: []expectation{{350, "node 3"}, {1700, "node 3; node 6"}},
			advice:   "grace_period_tight; nodes_slow 3,6",
		},
		{
			name:     "two zones are cut off at once",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 400, 1, 4, 7, 2, 5, 8) },
			expected: []expectation{{350, "shared_path 1,2,4,5,7,8"}, {700, "shared_path 1,2,4,5,7,8"}},
			open:     untilAThird,
			evidence: []string{"they are the only nodes with " + zoneA + " and " + zoneB},
			advice:   "control_plane_late 1,2,4,5,7,8", over: true,
		},
		{
			name:     "two zones are cut off 25 seconds apart",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 400, 1, 4, 7).silence(325, 400, 2, 5, 8) },
			expected: []expectation{{345, "shared_path 1,4,7"}, {370, "shared_path 1,2,4,5,7,8"}, {700, "shared_path 1,2,4,5,7,8"}},
			open:     untilAThird,
			evidence: []string{"they are the only nodes with " + zoneA, "they are the only nodes with " + zoneB, "3 others fell silent"},
			advice:   "control_plane_late 1,2,4,5,7,8", over: true,
		},
		{
			name:     "two zones are cut off three minutes apart, and return together",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 700, 1, 4, 7).silence(480, 700, 2, 5, 8) },
			expected: []expectation{{345, "shared_path 1,4,7"}, {525, "shared_path 1,4,7; shared_path 2,5,8"}, {1000, "shared_path 1,4,7; shared_path 2,5,8"}},
			open:     untilAThird,
			evidence: []string{"they are the only nodes with " + zoneA, "they are the only nodes with " + zoneB},
			lacks:    []string{"6 of 9", "others fell silent"},
			advice:   "control_plane_late 1,2,4,5,7,8", over: true,
		},
		{
			name:     "a zone is cut off one and a half minutes after another one is back",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 390, 1, 4, 7).silence(480, 570, 2, 5, 8) },
			expected: []expectation{{345, "shared_path 1,4,7"}, {525, "shared_path 1,4,7; shared_path 2,5,8"}, {1000, "shared_path 1,4,7; shared_path 2,5,8"}},
			open:     untilAThird,
			evidence: []string{"they are the only nodes with " + zoneA, "they are the only nodes with " + zoneB},
			lacks:    []string{"6 of 9"},
			advice:   "control_plane_late 1,2,4,5,7,8", over: true,
		},
		{
			name:     "a node fails by itself while a zone is cut off",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 700, 1, 4, 7).silence(400, 700, 2) },
			expected: []expectation{{345, "shared_path 1,4,7"}, {450, "node 2; shared_path 1,4,7"}, {1000, "node 2; shared_path 1,4,7"}},
			open:     untilAThird,
			advice:   "control_plane_late 1,4,7; nodes_silent 2", over: true,
		},
		{
			name: "three nodes are cut off for half a minute, and only one of them misses the grace period",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).showsControlPlane(3).silence(300, 330, 1, 4).silence(300, 345, 7)
			},
			expected: []expectation{{340, "shared_path 7"}, {700, "shared_path 7"}},
			open:     untilAThird,
			evidence: []string{"the heartbeats of 3 of 9 nodes became late within", "other nodes were late at the same time"},
			lacks:    []string{"sent their heartbeats on time"},
			advice:   "control_plane_late 1,4,7",
		},
		{
			name: "two kubelets are slow every two minutes, and once both at the same time",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for i := range 12 {
					c.slow(3, 300+120*float64(i), 47).slow(6, 357+127*float64(i), 46)
				}
				return c
			},
			expected: []expectation{{410, "node 3; node 6"}, {1305, "node 6; undecided 3; undecided 6"}, {1680, "node 3; node 6; undecided 6"}, {1800, "node 3; node 6"}, {2300, "node 3; node 6"}},
			open:     "two nodes that are silent at the same time can be chance, until they return",
			evidence: []string{"but each of them also fell silent alone within the hour, so this may be chance"},
			advice:   "grace_period_tight; nodes_slow 3,6",
		},
		{
			name:     "a zone of thirty nodes is cut off",
			cluster:  func() *fakeCluster { return newFakeCluster(30).silence(300, 420, 2, 5, 8, 11, 14, 17, 20, 23, 26, 29) },
			expected: []expectation{{346, "shared_path 11,14,17,2,20,23,26,29,5,8"}, {600, "shared_path 11,14,17,2,20,23,26,29,5,8"}},
			open:     untilAThird,
			evidence: []string{"they are the only nodes with topology.kubernetes.io/zone=b"},
			advice:   "control_plane_late 11,14,17,2,20,23,26,29,5,8",
		},
	}
}
