package main

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// withoutLeases is a cluster of a version before Leases, or one whose Leases kubeflap may not see: then kubelets report every 5 minutes.
func (s *fakeCluster) withoutLeases(every time.Duration) *fakeCluster {
	s.lacks(event.KindLease)
	if every < 5*time.Minute {
		s.leases, s.interval = false, every
	}
	return s
}

// storiesOfWatches are about what kubeflap itself does not see: Leases, clocks, its own watches.
func storiesOfWatches() []scenario {
	return []scenario{
		{
			name:    "without Leases, three of nine nodes fall silent together",
			cluster: func() *fakeCluster { return newFakeCluster(9).withoutLeases(10*time.Second).silence(300, 360, 1, 4, 7) },
			harm:    345,
			asked:   []asked{{350, "shared_path 1,4,7"}, {500, "shared_path 1,4,7"}},
			never:   "node controller_manager grace_period planned", open: untilAThird, decided: 346,
			advice: "control_plane_late 1,4,7",
		},
		{
			name:    "kubeflap's watch of Leases stands still while the cluster is well",
			cluster: func() *fakeCluster { return newFakeCluster(9).freezes(event.KindLease, 300, 420) },
			asked:   []asked{{345, ""}, {500, ""}},
			never:   "node shared_path controller_manager undecided",
		},
		{
			name:    "kubeflap's watch of Leases breaks for 90 s while the cluster is well",
			cluster: func() *fakeCluster { return newFakeCluster(9).breaks(event.KindLease, 300, 390, event.ReasonTimeout) },
			asked:   []asked{{380, ""}, {600, ""}},
			never:   "node shared_path controller_manager undecided",
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
			asked: []asked{{350, ""}, {600, ""}},
			never: "node shared_path controller_manager undecided",
		},
	}
}
