package main

import (
	"fmt"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestVerdictsAreRevisedAfterTheRestart restarts kubeflap during an incident whose cause becomes visible only after
// the restart.
func TestVerdictsAreRevisedAfterTheRestart(t *testing.T) {
	for name, c := range map[string]restartStory{
		"three machines reboot": {
			cluster:  func() *fakeCluster { return newFakeCluster(9).reboots(300, 1000, 1, 2, 3) },
			restarts: [][2]float64{{500, 510}}, looks: []float64{499, 600, 1100, 1500},
		},
		"four machines are terminated": {cluster: func() *fakeCluster {
			return newFakeCluster(10).silence(300, forever, 1, 2, 3, 4).deletes(480, 1).deletes(482, 2).deletes(484, 3).deletes(486, 4)
		}, restarts: [][2]float64{{400, 410}}, looks: []float64{399, 420, 500, 900}},
		"a machine is terminated": {cluster: func() *fakeCluster {
			return newFakeCluster(10).silence(300, forever, 5).deletes(480, 5)
		}, restarts: [][2]float64{{400, 410}}, looks: []float64{399, 420, 500, 900}},
	} {
		t.Run(name, c.run)
	}
}

// TestARealSilenceIsNotWithdrawn restarts kubeflap soon after a node has returned. Then the Lease watch stops
// delivering events, so that the node seems to be silent again.
func TestARealSilenceIsNotWithdrawn(t *testing.T) {
	for _, nodes := range []int{1, 9} {
		t.Run(fmt.Sprintf("%d nodes", nodes), restartStory{cluster: func() *fakeCluster {
			c := newFakeCluster(nodes).silence(300, 385, 1).freezes(event.KindLease, 425, 485)
			c.noReads = event.ReasonForbidden
			c.services = c.services[:1]
			return c
		}, restarts: [][2]float64{{410, 413}}, looks: []float64{409, 420, 500, 900}}.run)
	}
}
