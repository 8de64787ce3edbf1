package scenario

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// drainedPods is the number of the Service's pods on the drained node.
const drainedPods = 3

func nodeDrain() Scenario {
	return Scenario{
		Name:    "node-drain",
		Summary: "a node is cordoned, drained pod by pod, shut down and deleted: no incident",
		Reports: []Report{},
		Causes:  []Loss{{"web", "pod_evicted", drainedPods, "a node is drained, with a new pod ready before each eviction"}},
		Options: cluster.Options{Nodes: 2, ControllerManagerPod: true},
		Prepare: func(l *Lab) { MakeReadyWeb(l, slices.Repeat([]string{cluster.NodeName(1)}, drainedPods)...) },
		Run:     func(l *Lab) { replaceNode(l, cluster.NodeName(1)) },
	}
}

func replaceNode(l *Lab, node string) {
	cordon(l, node)
	for i := range drainedPods {
		moveAway(l, podName(i), podName(drainedPods+i))
	}
	l.Cluster.Remove(node) // a running kubelet would register its node again
	deleteNodes(l, node)
	l.waitForCountAtLeast(drainedPods, lost, "service", "web")
}

// moveAway starts a pod on the first node. When this pod is ready, it evicts the old pod.
func moveAway(l *Lab, from, to string) {
	createPod(l, newPod("shop", to, cluster.NodeName(0), "web"))
	l.waitForReadyAddresses("shop", "web", drainedPods+1)
	evict(l, "shop", from)
	l.waitForReadyAddresses("shop", "web", drainedPods)
	l.waitForPodGone("shop", from)
}

// singleReplicaDrain drains two nodes one after the other. Each drain evicts the only pod of the Service "web". The
// Service then has no ready address for so long that an unplanned outage of that length would cause a page.
func singleReplicaDrain() Scenario {
	drained := []string{cluster.NodeName(1), cluster.NodeName(2)}
	return Scenario{
		Name:     "single-replica-drain",
		Extra:    true,
		Summary:  "two nodes are drained one after the other, each with the only pod of a Service: no page",
		LossesBy: "pod_evicted",
		Reports: []Report{
			{"planned", "workload", "pod_evicted", "Service/web", "announced by a cordon", "PodDisruptionBudget"},
		},
		Alerts:  []Alert{},
		Options: cluster.Options{Nodes: 3, ControllerManagerPod: true, ControllerManagerFlags: []string{unhurried}},
		Prepare: func(l *Lab) { MakeReadyWeb(l, drained[0]) },
		Run: func(l *Lab) {
			l.WaitForHeartbeats()
			drainOnly(l, drained[0], podName(0), podName(1), drained[1])
			drainOnly(l, drained[1], podName(1), podName(2), cluster.NodeName(0))
		},
	}
}

// drainOnly evicts the only pod of the Service. After the duration of an image pull, it starts a pod on another node.
func drainOnly(l *Lab, node, from, to, elsewhere string) {
	cordon(l, node)
	evict(l, "shop", from)
	l.waitForReadyAddresses("shop", "web", 0)
	l.Sleep(imagePull)
	createPod(l, newPod("shop", to, elsewhere, "web"))
	l.waitForReadyAddresses("shop", "web", 1)
}

// imagePull is the simulated duration of an image pull. It exceeds one minute, so an unplanned outage of this length
// would cause a page.
const imagePull = 80 * time.Second
