package scenario

import (
	"fmt"
	"strings"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// maintenance announces a node's maintenance with the conditions of v1.37 and a cordon. No component of Kubernetes sets
// these conditions yet, so the lab sets them in place of a node maintenance controller. The kubelet and the node
// controller must not remove them. The node then reboots and becomes Ready again.
func maintenance() Scenario {
	const nodes, kept = 3, "node-2"
	options := graced(nodes)
	options.Release = cluster.Newest
	return Scenario{
		Name:     "maintenance",
		Summary:  "a node's conditions announce its maintenance: it is drained, reboots and returns, and nobody is paged",
		LossesBy: "pod_evicted",
		Reports: []Report{
			{"planned", "node", "node_heartbeat_lost", kept, "announced by the condition MaintenanceInProgress", "Nothing is at fault"},
		},
		Alerts:  []Alert{},
		Options: options,
		Prepare: func(l *Lab) { spreadReady(l, nodes) },
		Run: func(l *Lab) {
			l.WaitForHeartbeats()
			drainForMaintenance(l, kept)
			maintain(l, kept)
		},
	}
}

// drainForMaintenance announces the maintenance of a node, and drains it. It sets one condition after another. kubeflap
// must report the announcement for each of the conditions.
func drainForMaintenance(l *Lab, node string) {
	announce(l, node, lifecycle("MaintenancePlanned", "True"))
	cordon(l, node)
	announce(l, node, lifecycle("DrainInProgress", "True"), lifecycle("MaintenancePlanned", "False"))
	drain(l, node)
	announce(l, node, lifecycle("Drained", "True"), lifecycle("DrainInProgress", "False"))
	announce(l, node, lifecycle("MaintenanceInProgress", "True"), lifecycle("Drained", "False"))
}

// maintain reboots a node whose maintenance was announced, and withdraws the announcement.
func maintain(l *Lab, node string) {
	l.Cluster.Kubelets[node].Stop()
	l.waitForNodeStatus("unknown", node)
	waitForDeparture(l, node, 1)
	l.Cluster.Boot(node)
	l.waitForNodeStatus("true", node)
	waitForDeparture(l, node, 1)
	patchNode(l, node, lifecycle("MaintenanceInProgress", "False"))
	patch(l, l.Client.CoreV1().Nodes(), node, `{"spec":{"unschedulable":null}}`)
	waitForDeparture(l, node, 0)
}

// announce sets conditions of a node in one write. kubeflap must then report that the node is departing because of a
// condition.
func announce(l *Lab, node string, conditions ...string) {
	patchNode(l, node, strings.Join(conditions, ","))
	waitForDeparture(l, node, 1)
}

// lifecycle returns a condition with the current time, as a node maintenance controller would set it.
func lifecycle(condition, status string) string {
	return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"Maintenance","lastTransitionTime":%s}`, condition, status, now())
}

// waitForDeparture waits until kubeflap_node_departing has the given value for the reason "condition". The value is 1 if
// a condition announces that the node departs, and 0 otherwise.
func waitForDeparture(l *Lab, node string, is float64) {
	l.waitForReportedValue(is, "kubeflap_node_departing", "node", node, "reason", "condition")
}
