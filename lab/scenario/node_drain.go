package scenario

import (
	"slices"

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
