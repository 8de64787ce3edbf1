package main

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// withManager lets kubeflap see the controller manager's pod with its grace period.
func (s *fakeCluster) withManager(grace time.Duration) *fakeCluster {
	s.grace = grace
	s.others = append(s.others, &event.Pod{
		Meta: metaOf("pod", "kube-system", "kube-controller-manager-master-1"), Phase: "Running", Owner: "Node/master-1", Node: "master-1",
		Ready:             &event.Condition{Status: event.StatusTrue, LastTransitionTime: s.now.Add(-time.Hour)},
		ControllerManager: &event.ControllerManager{GracePeriod: grace, Version: s.version, Flags: &event.ControllerManagerFlags{}},
	})
	return s
}

// withVersion sets the Kubernetes version and the grace period.
func (s *fakeCluster) withVersion(version string, grace time.Duration) *fakeCluster {
	s.version, s.grace = version, grace
	return s
}

// storiesOfTheControlPlane returns stories about the controller manager and the grace period.
func storiesOfTheControlPlane() []scenario {
	return []scenario{
		{
			name:     "the controller manager stands still for 60 s and goes on",
			cluster:  func() *fakeCluster { return newFakeCluster(9).stops(300, 360) },
			expected: []expectation{{355, ""}, {365, "controller_manager " + all9}, {500, "controller_manager " + all9}},
			evidence: []string{"although the newest heartbeat was younger than the grace period"},
			advice:   "controller_manager_slow " + all9,
		},
		{
			name: "a zone is cut off, and the controller manager stands still and marks its nodes after they are back",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).showsControlPlane(1).silence(290, 352, 1, 4, 7).stops(300, 360)
			},
			expected: []expectation{{345, "shared_path 1,4,7"}, {600, "controller_manager 2,3,5,6,8,9; shared_path 1,4,7"}},
			open:     untilAThird,
			advice:   "control_plane_late 1,4,7; controller_manager_slow 2,3,5,6,8,9",
		},
		{
			name: "a node is silent for minutes while the controller manager stands still",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).showsControlPlane(1).silence(310, 470, 5).stops(300, 500)
			},
			expected: []expectation{{475, "node 5"}, {520, "controller_manager 1,7,9; node 5"}, {700, "controller_manager 1,7,9; node 5"}},
			advice:   "controller_manager_slow 1,7,9; nodes_silent 5",
		},
		{
			name:     "etcd behind three API servers stalls for 90 s: whether it is etcd, or the API server that kubeflap uses, shows when it goes on",
			cluster:  func() *fakeCluster { return newFakeCluster(9).showsControlPlane(3).stall(303, 393) },
			expected: []expectation{{345, ""}, {390, ""}, {405, "shared_path " + all9}, {600, "shared_path " + all9}},
			evidence: []string{"all API servers stopped renewing their Leases, too, which points to etcd"},
			advice:   "control_plane_late " + all9,
		},
		{
			name:     "etcd behind the only API server stalls for 90 s",
			cluster:  func() *fakeCluster { return newFakeCluster(9).showsControlPlane(1).stall(303, 393) },
			expected: []expectation{{350, "shared_path " + all9}, {600, "shared_path " + all9}},
			open:     untilAThird,
			evidence: []string{"the API server could not read Leases (etcd not ready)"},
			advice:   "control_plane_late " + all9,
		},
		{
			name:     "etcd stalls under the only node",
			cluster:  func() *fakeCluster { return newFakeCluster(1).stall(300, 390) },
			expected: []expectation{{345, "undecided 1"}, {500, "undecided 1"}},
			evidence: []string{"the API server could not read Leases at that time"},
			open:     "with one node, nothing tells its kubelet from etcd",
			advice:   "undecided 1",
		},
		{
			name:     "the watch of Leases of the controller manager shows it nothing for a minute",
			cluster:  func() *fakeCluster { return newFakeCluster(9).lags(300, 365) },
			expected: []expectation{{350, "controller_manager " + all9}, {500, "controller_manager " + all9}},
			advice:   "controller_manager_slow " + all9,
		},
		{
			name: "the controller manager marks one node whose Lease is in time",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).withManager(seconds(40))
				return c.at(302, func() { c.mark(c.nodes[3]) })
			},
			expected: []expectation{{304, "controller_manager 4"}, {450, "controller_manager 4"}},
			advice:   "controller_manager_slow 4",
		},
		{
			name: "the controller manager marks one node whose Lease is in time, if the grace period is only assumed",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				return c.at(302, func() { c.mark(c.nodes[3]) })
			},
			expected: []expectation{{304, "undecided 4"}, {450, "undecided 4"}},
			open:     "the grace period may be shorter than assumed",
			evidence: []string{"so the grace period may be shorter than 40s, which is only assumed"},
			advice:   "undecided 4",
		},
		{
			name: "the controller manager of a managed control plane stands still",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).withVersion("v1.31.4-eks-7f9249a", 40*time.Second).stops(300, 360)
			},
			expected: []expectation{{365, "controller_manager " + all9}},
			evidence: []string{"Your provider runs the kube-controller-manager"},
			advice:   "controller_manager_slow " + all9,
		},
		{
			name: "a slow kubelet of a managed control plane",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).withVersion("v1.33.1-gke.1157000", 50*time.Second).slow(2, 300, 59)
			},
			expected: []expectation{{358, "node 2"}, {450, "node 2"}},
			evidence: []string{"You cannot set the grace period of a managed control plane"},
			advice:   "grace_period_tight; nodes_slow 2",
		},
		{
			name: "etcd of a managed control plane takes no write for a minute",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).withVersion("v1.33.1-gke.1157000", 50*time.Second).stall(300, 365)
			},
			expected: []expectation{{356, "shared_path " + all9}, {450, "shared_path " + all9}},
			open:     untilAThird,
			evidence: []string{"Your provider runs etcd"},
			advice:   "control_plane_late " + all9,
		},
		{
			name:     "the fifth post: a grace period of 10 s, and kubelets that report every 10 s",
			cluster:  func() *fakeCluster { return newFakeCluster(3).withManager(10 * time.Second) },
			expected: []expectation{{120, "grace_period 1,2,3"}, {600, "grace_period 1,2,3"}},
			advice:   "grace_period_unsafe",
		},
		{
			name:     "a grace period of 10 s, and one slow kubelet",
			cluster:  func() *fakeCluster { return newFakeCluster(3).withManager(10*time.Second).slow(2, 300, 31) },
			expected: []expectation{{120, "grace_period 1,2,3"}, {335, "grace_period 1,2,3; node 2"}, {600, "grace_period 1,2,3; node 2"}},
			advice:   "grace_period_unsafe; nodes_slow 2",
		},
		{
			name: "Leases of 20 s are renewed every 5 s, so a grace period of 20 s is safe, and one kubelet is slow",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).withManager(20 * time.Second)
				c.interval = 5 * time.Second
				return c.slow(2, 300, 29)
			},
			expected: []expectation{{330, "node 2"}, {450, "node 2"}},
			advice:   "grace_period_tight; nodes_slow 2",
		},
		{
			name: "the node controller leaves a silent node Ready, and its Lease as the leader is in time",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).withManager(seconds(40)).showsControlPlane(1).silence(300, forever, 5)
				c.manager.holdsBack = []span{{0, forever}}
				return c
			},
			expected: []expectation{{350, "node 5"}, {420, "controller_manager 5"}, {600, "controller_manager 5"}},
			advice:   "controller_manager_slow 5",
		},
		{
			name: "the node controller leaves a silent node Ready, and kubeflap may not see who leads",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).silence(300, forever, 5)
				c.manager.holdsBack = []span{{0, forever}}
				return c
			},
			expected: []expectation{{350, "node 5"}, {600, "node 5"}},
			evidence: []string{"1 silent node is still Ready, but the grace period of 40s is only assumed. It may be longer"},
			advice:   "nodes_silent 5",
		},
		{
			name: "another controller manager leads while a node is silent, so the node is marked late",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).showsControlPlane(1).silence(300, forever, 5).leads(335, "master-2_2")
			},
			expected: []expectation{{350, "node 5"}, {365, "node 5"}, {600, "node 5"}},
			advice:   "nodes_silent 5",
		},
		{
			name: "Leases of 80 s are renewed every 20 s, and the grace period of 40 s is twice that",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).withManager(seconds(40))
				c.interval = seconds(20)
				return c
			},
			expected: []expectation{{900, ""}},
			advice:   "grace_period_tight",
		},
	}
}
