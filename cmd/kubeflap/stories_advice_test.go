package main

import (
	"time"
)

// storiesOfAdvice returns stories about the output of `kubeflap advise`: long after an incident, and for nodes that
// only seem slow.
func storiesOfAdvice() []scenario {
	return []scenario{
		{
			name: "a zone is cut off three times, and somebody asks 13 minutes later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, 360, 1, 4, 7).silence(1500, 1560, 1, 4, 7).silence(2700, 2760, 1, 4, 7)
			},
			expected: []expectation{{345, "shared_path 1,4,7"}, {2735, "shared_path 1,4,7; undecided 7"}, {3540, "shared_path 1,4,7"}},
			open:     untilAThird,
			advice:   "control_plane_late 1,4,7",
		},
		{
			name:     "two zones are cut off 20 minutes apart, and somebody asks 13 minutes later",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(300, 360, 1, 4, 7).silence(1500, 1560, 2, 5, 8) },
			expected: []expectation{{345, "shared_path 1,4,7"}, {2340, "shared_path 1,4,7; shared_path 2,5,8"}},
			open:     untilAThird,
			advice:   "control_plane_late 1,2,4,5,7,8",
		},
		{
			name:     "a grace period of 20 s is missed once, and somebody asks 13 minutes later",
			cluster:  func() *fakeCluster { return newFakeCluster(9).withManager(20*time.Second).slow(2, 300, 25) },
			expected: []expectation{{330, "node 2"}, {1110, "node 2"}},
			advice:   "grace_period_tight; nodes_slow 2",
		},
		{
			name:     "etcd stalls three times for less than the grace period",
			cluster:  func() *fakeCluster { return newFakeCluster(9).stall(300, 325).stall(1500, 1525).stall(2700, 2725) },
			expected: []expectation{{3540, ""}},
			advice:   "control_plane_late " + all9,
		},
		{
			name: "three reboots without notice, and somebody asks 13 minutes later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).reboots(300, 380, 1).reboots(1500, 1580, 1).reboots(2700, 2780, 1)
			},
			expected: []expectation{{350, "node 1"}, {465, "node_rebooted 1"}, {1550, "node 1; node_rebooted 1"}, {1600, "node_rebooted 1"}, {2750, "node 1; node_rebooted 1"}, {3560, "node_rebooted 1"}},
			advice:   "nodes_rebooted 1",
		},
		{
			name: "a node is drained and rebooted four times, and somebody asks at once",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for i := range 4 {
					at := 300 + 300*float64(i)
					c.taint(at, 1, "medik8s.io/drain").silence(at+20, at+50, 1).uncordon(at+60, 1)
				}
				return c
			},
			expected: []expectation{{1260, ""}},
		},
		{
			name: "the controller manager stands still, and somebody asks 20 minutes later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).stops(300, 360)
			},
			expected: []expectation{{365, "controller_manager " + all9}, {1560, "controller_manager " + all9}},
			advice:   "controller_manager_slow " + all9,
		},
		{
			name:     "three kubelets are upgraded at once, and somebody asks an hour later",
			cluster:  func() *fakeCluster { return newFakeCluster(9).upgrades(300, 390, 1, 2, 3) },
			expected: []expectation{{345, "shared_path 1,2,3"}, {465, "node 1,2,3"}, {3990, "node 1,2,3"}},
			open:     untilAThird,
			evidence: []string{"drain each node first"},
			advice:   "kubelets_upgraded 1,2,3",
		},
		{
			name: "a kubelet is upgraded, and hangs an hour later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).upgrades(300, 390, 2).slow(2, 4000, 49)
			},
			expected: []expectation{{420, "node 2"}, {4100, "node 2"}},
			advice:   "grace_period_tight; kubelets_upgraded 2; nodes_slow 2",
		},
		{
			name: "three kubelets are upgraded within the grace period",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).upgrades(300, 325, 1, 2, 3)
			},
			expected: []expectation{{400, ""}},
		},
		{
			name:     "a grace period of 10 s, and etcd stalls for 14 s: healthy kubelets miss it before and after",
			cluster:  func() *fakeCluster { return newFakeCluster(9).withManager(10*time.Second).stall(300, 314) },
			expected: []expectation{{120, "grace_period " + all9}, {330, "grace_period " + all9 + "; shared_path 2,3,4,5,6,7"}, {1300, "grace_period " + all9 + "; shared_path 2,3,4,5,6,7"}},
			evidence: []string{
				"6 of 9 nodes fell silent together", "The grace period of 10s is not the cause, but it is unsafe: set it to 40s",
				"The grace period of 10s is as short as the heartbeat interval", "Set --node-monitor-grace-period of the kube-controller-manager to 40s",
			},
			advice: "control_plane_late 2,3,4,5,6,7; grace_period_unsafe",
		},
		{
			name: "the clocks of three nodes are set back by an hour",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).sets(305, 3, -time.Hour).sets(305, 5, -time.Hour).sets(305, 8, -time.Hour)
			},
			expected: []expectation{{360, "node 3,5,8"}, {600, "node 3,5,8"}, {2000, "node 3,5,8"}},
			evidence: []string{"The clocks of 3 of 9 nodes were set back", "Repair the time synchronization of node-3 and 2 more"},
			advice:   "clocks_set_back 3,5,8",
		},
		{
			name:     "a clock is set back by 15 s, which costs less than the grace period",
			cluster:  func() *fakeCluster { return newFakeCluster(9).sets(305, 3, seconds(-15)) },
			expected: []expectation{{400, ""}},
		},
		{
			name:     "a machine reboots for 94 s, and a minute later its kubelet hangs",
			cluster:  func() *fakeCluster { return newFakeCluster(9).reboots(300, 394, 1).silence(460, 500, 1) },
			expected: []expectation{{350, "node 1"}, {400, "node_rebooted 1"}, {700, "node 1"}},
			evidence: []string{
				"sent no heartbeat for 98s", "the machine was rebooted (it has a new bootID)",
				"set the kube-controller-manager's --node-monitor-grace-period to 90s. It is currently 40s, and the longest interval was 43.7s.",
			},
			advice: "grace_period_tight; nodes_slow 1",
		},
		{
			name: "three kubelets are upgraded, and fall silent together a minute later",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).upgrades(300, 302, 1, 4, 7).silence(362, 440, 1, 4, 7)
			},
			expected: []expectation{{410, "undecided 1; undecided 4; undecided 7"}, {700, "undecided 1; undecided 4; undecided 7"}, {3000, "undecided 1; undecided 4; undecided 7"}},
			open:     "the new kubelets, or what their nodes share",
			evidence: []string{"only the kubelets of node-4 and 2 more were upgraded in the ten minutes before the silences", "journalctl -u kubelet --since"},
			advice:   "undecided 1,4,7",
		},
		{
			name: "all kubelets were upgraded, and then a zone is cut off",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).upgrades(300, 302, 1, 2, 3, 4, 5, 6, 7, 8, 9).silence(362, 440, 1, 4, 7)
			},
			expected: []expectation{{410, "shared_path 1,4,7"}, {700, "shared_path 1,4,7"}},
			open:     untilAThird,
			advice:   "control_plane_late 1,4,7",
		},
	}
}
