package main

import "testing"

// TestRestarts compares kubeflap with one that was not restarted, at times at which both must show the same. It covers what
// TestRestartsInAllStories does not: more than one restart, what changes after the restart, and few incidents that are kept.
func TestRestarts(t *testing.T) {
	for _, x := range readStories(t, "restarts") {
		t.Run(x.name, x.run)
	}
}

// notReady makes a pod not ready between two times.
func (s *fakeCluster) notReady(p *fakePod, from, to float64) {
	s.at(from, func() { p.setReady(s, false, "ContainersNotReady") })
	s.at(to, func() { p.setReady(s, true, "") })
}
