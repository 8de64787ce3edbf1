package main

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// withoutLeases removes the Leases from the cluster. If every is 5 minutes, the Leases exist, but kubeflap is not
// allowed to read them.
func (s *fakeCluster) withoutLeases(every time.Duration) *fakeCluster {
	if every == 5*time.Minute {
		return s.lacks(event.KindLease, event.ReasonForbidden)
	}
	s.leases, s.interval = false, every
	return s.lacks(event.KindLease, event.ReasonAbsent)
}

// storiesOfWatches returns stories about limits of kubeflap's view: Leases, clocks and its own watches.
func storiesOfWatches() []scenario {
	return []scenario{
		{
			name:     "without Leases, three of nine nodes fall silent together",
			cluster:  func() *fakeCluster { return newFakeCluster(9).withoutLeases(10*time.Second).silence(400, 460, 1, 4, 7) },
			expected: []expectation{{450, "shared_path 1,4,7"}, {600, "shared_path 1,4,7"}},
			open:     untilAThird,
			advice:   "control_plane_late 1,4,7",
		},
		{
			name:     "kubeflap's watch of Leases stands still while the cluster is well",
			cluster:  func() *fakeCluster { return newFakeCluster(9).freezes(event.KindLease, 300, 420) },
			expected: []expectation{{345, ""}, {500, ""}},
		},
		{
			name:     "kubeflap's watch of Leases breaks for 90 s while the cluster is well",
			cluster:  func() *fakeCluster { return newFakeCluster(9).breaks(event.KindLease, 300, 390, event.ReasonTimeout) },
			expected: []expectation{{380, ""}, {600, ""}},
		},
		{
			name: "all watches of kubeflap break while a node restarts its kubelet",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9)
				for _, k := range event.Kinds() {
					c.breaks(k, 300, 400, event.ReasonRefused)
				}
				return c
			},
			expected: []expectation{{350, ""}, {600, ""}},
		},
		{
			name: "a node is silent while kubeflap is blind for half of that time",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).silence(300, 390, 2).breaks(event.KindLease, 320, 372, event.ReasonTimeout)
			},
			expected: []expectation{{350, "undecided 2"}, {600, "undecided 2"}},
			open:     "kubeflap's own watch was broken meanwhile",
			advice:   "undecided 2",
		},
		{
			name:     "without Leases, one kubelet is silent for 55 s",
			cluster:  func() *fakeCluster { return newFakeCluster(9).withoutLeases(10*time.Second).silence(400, 455, 2) },
			expected: []expectation{{450, "node 2"}, {600, "node 2"}},
			advice:   "grace_period_tight; nodes_slow 2",
		},
		{
			name: "kubeflap may not see Leases, and one node turns Unknown between two reports",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).withoutLeases(5*time.Minute).silence(300, 355, 2)
			},
			expected: []expectation{{350, "undecided 2"}, {600, "undecided 2"}},
			open:     "reports that are 5 minutes apart do not show when the heartbeats ended",
			advice:   "undecided 2",
		},
		{
			name:     "a node's clock is set back by an hour",
			cluster:  func() *fakeCluster { return newFakeCluster(9).sets(305, 3, -time.Hour) },
			expected: []expectation{{360, "node 3"}, {600, "node 3"}},
			evidence: []string{"clock"},
			advice:   "clocks_set_back 3",
		},
		{
			name:     "kubeflap starts when a node has been silent for a while",
			cluster:  func() *fakeCluster { return newFakeCluster(9).silence(0, 55, 5) },
			expected: []expectation{{50, "node 5"}, {300, "node 5"}},
			evidence: []string{"Node node-5 sent no heartbeat for 6", "heartbeats resumed after 6", "set the kube-controller-manager's --node-monitor-grace-period"},
			lacks:    []string{"for 10", "is long enough", "is right for"},
			advice:   "grace_period_tight; nodes_slow 5",
		},
		{
			name: "kubeflap's watch of Leases stands still, and its direct reads are refused",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).freezes(event.KindLease, 300, 360)
				c.noReads = event.ReasonUnauthorized
				return c
			},
			expected: []expectation{{355, ""}, {500, ""}},
		},
		{
			name: "kubeflap's watch of Leases stands still, and it may not read Leases directly",
			cluster: func() *fakeCluster {
				c := newFakeCluster(9).freezes(event.KindLease, 300, 360)
				c.noReads = event.ReasonForbidden
				return c
			},
			expected: []expectation{{350, "shared_path " + all9}, {500, "withdrawn"}},
			open:     "without permission to read Leases, nothing tells a silent watch from silent nodes until it goes on",
		},
		{
			name:     "of three API servers, the one that kubeflap uses is cut off from etcd for 2 minutes",
			cluster:  func() *fakeCluster { return newFakeCluster(9).showsControlPlane(3).cutsOff(303, 423) },
			expected: []expectation{{345, ""}, {420, ""}, {430, ""}, {700, ""}},
		},
		{
			name: "the API server that kubeflap uses is cut off from etcd, and meanwhile a node is silent for a minute",
			cluster: func() *fakeCluster {
				return newFakeCluster(9).showsControlPlane(3).cutsOff(303, 423).silence(320, 385, 5)
			},
			expected: []expectation{{420, ""}, {430, "node 5"}, {700, "node 5"}},
			advice:   "grace_period_tight; nodes_slow 5",
		},
		{
			name:     "the API server that kubeflap uses is cut off from etcd, and it may not see how many there are",
			cluster:  func() *fakeCluster { return newFakeCluster(9).cutsOff(303, 423) },
			expected: []expectation{{350, "shared_path " + all9}, {500, "withdrawn"}},
			open:     "without the Leases in kube-system, the API server may be the only one",
		},
	}
}
