package scenario

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// removalTaint is the taint with which the Cluster Autoscaler announces that it will delete a node.
const removalTaint = `[{"key":"ToBeDeletedByClusterAutoscaler","value":"1","effect":"NoSchedule"}]`

// unhurried is a flag that sets a long grace period. The kubelets are paused while kubeflap starts, and with a shorter
// grace period, their heartbeats would be late. After a late heartbeat, kubeflap would not treat a cordon as an
// announcement.
const unhurried = "--node-monitor-grace-period=40s"

// alertSent is the maximum time until an alert about a node fires.
const alertSent = time.Minute

// departures removes nodes in different ways. Each node is silent for longer than the grace period, so the node
// controller marks it Unknown. The nodes differ in what announces the removal, and in what happens to the machine.
func departures() Scenario {
	const nodes, lost = 8, "node_heartbeat_lost"
	cordoned, scaled := "node-2", []string{"node-3", "node-4", "node-5", "node-6"}
	rebooted, reclaimed := "node-7", "node-8"
	want := []Report{
		{"planned", "node", lost, cordoned, "announced by a cordon", "Nothing is at fault"},
		{"node_rebooted", "node", lost, rebooted, "a new bootID", "The machine of " + rebooted + " restarted without notice"},
		{"undecided", "node", lost, reclaimed, "the machine is gone: it was reclaimed, or it failed and was replaced", "Find out which component is at fault"},
	}
	for _, node := range scaled {
		want = append(want, Report{"planned", "node", lost, node, "announced by the taint ToBeDeletedByClusterAutoscaler", "Nothing is at fault"})
	}
	return Scenario{
		Name: "departures",
		Summary: "nodes leave: one is cordoned and drained, and the Cluster Autoscaler removes half of all nodes; " +
			"meanwhile one reboots, and then one disappears without notice",
		Reports: want,
		Advised: []string{"nodes rebooted"}, NotAdvised: []string{"nodes slow", "nodes silent", "control plane late"},
		Alerts: []Alert{
			lostAlert(rebooted, "The machine of "+rebooted+" restarted without notice"),
			lostAlert(reclaimed, "Find out which component is at fault"),
		},
		Options: cluster.Options{Nodes: nodes, ControllerManagerPod: true, ControllerManagerFlags: []string{unhurried, everySecond}},
		Prepare: func(l *Lab) { spreadReady(l, nodes) },
		Run: func(l *Lab) {
			l.WaitForHeartbeats()
			cordon(l, cordoned)
			for _, node := range scaled {
				setTaints(l, node, removalTaint)
			}
			departBeside(l, append(scaled, cordoned), rebooted)
			leaveUnannounced(l, reclaimed)
			// The garbage collector deletes the pod of the reclaimed node. No controller creates a new one.
			l.webHas(nodes-1, "ready")
		},
	}
}

// departBeside drains and removes the announced nodes. While these nodes are silent, another node reboots without an
// announcement.
func departBeside(l *Lab, leaving []string, rebooted string) {
	drainAll(l, leaving)
	for _, node := range leaving {
		l.Cluster.Remove(node)
	}
	l.Cluster.Kubelets[rebooted].Stop()
	l.waitForNodeStatus("unknown", append(leaving, rebooted)...)
	deleteNodes(l, leaving...)
	l.Must(l.Cluster.Boot(rebooted))
	l.waitForNodeStatus("true", rebooted)
}

// leaveUnannounced removes a machine, like a cloud that reclaims it without notice.
func leaveUnannounced(l *Lab, node string) {
	l.Cluster.Remove(node)
	l.waitForNodeStatus("unknown", node)
	l.Sleep(alertSent) // the time that a cloud takes to notice
	deleteNodes(l, node)
}

// lostAlert returns the expected alert for a node whose heartbeats stop without an announcement.
func lostAlert(node, remedy string) Alert {
	return Alert{Name: "KubeflapNodeLost", Object: "Node " + node, Remedy: remedy}
}

// drainAll replaces the pods of the given nodes with pods on the first node. For example, it replaces pod web-3 of
// node-3 with pod web-3-new.
func drainAll(l *Lab, nodes []string) {
	all := l.nodes()
	for i, node := range all {
		if slices.Contains(nodes, node) {
			createPod(l, newPod("shop", podName(i)+"-new", cluster.NodeName(0), "web"))
		}
	}
	l.waitForReadyAddresses("shop", "web", len(all)+len(nodes))
	for i, node := range all {
		if slices.Contains(nodes, node) {
			evict(l, "shop", podName(i))
			l.waitForPodGone("shop", podName(i))
		}
	}
	l.waitForReadyAddresses("shop", "web", len(all))
}
