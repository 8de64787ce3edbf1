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
	drain(l, node)
	l.Cluster.Remove(node) // a running kubelet would register its node again
	remove(l, l.Client.CoreV1().Nodes(), node)
	l.waitForCountAtLeast(drainedPods, lost, "service", "web")
}

// drain replaces the pods of a node, one after the other, by pods on the first node. It evicts each pod when the new one
// is ready. The new pod of web-3 is web-3-new.
func drain(l *Lab, node string) {
	all := podsOf(l, "web")
	for _, pod := range all {
		if pod.Spec.NodeName != node {
			continue
		}
		createPod(l, newPod("shop", pod.Name+"-new", cluster.NodeName(0), "web"))
		l.waitForReadyAddresses("shop", "web", len(all)+1)
		evict(l, "shop", pod.Name)
		l.waitForReadyAddresses("shop", "web", len(all))
		l.waitForPodGone("shop", pod.Name)
	}
}
