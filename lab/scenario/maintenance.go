package scenario

import (
	"context"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// maintenance announces a node's maintenance with the conditions of v1.37 and a cordon. No component of Kubernetes sets
// these conditions yet, so the lab sets them in place of a node maintenance controller. The kubelet and the node
// controller must not remove them. The node then reboots and becomes Ready again.
func maintenance() Scenario {
	const nodes, kept = 3, "node-2"
	return Scenario{
		Name:     "maintenance",
		Summary:  "a node's conditions announce its maintenance: it is drained, reboots and returns, and nobody is paged",
		LossesBy: "pod_evicted",
		Reports: []Report{
			{"planned", "node", "node_heartbeat_lost", kept, "announced by the condition MaintenanceInProgress", "Nothing is at fault"},
		},
		NotAdvised: []string{"nodes rebooted", "nodes slow", "nodes silent", "control plane late"},
		Pages:      []Page{},
		Options: cluster.Options{
			Release: cluster.Newest, Nodes: nodes, ControllerManagerPod: true,
			ControllerManagerFlags: []string{graceFlag(), "--node-monitor-period=1s"},
		},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.spreadReady(ctx, nodes) },
				func() error { return l.waitForNoTaints(ctx) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.WaitForHeartbeats(ctx) },
				func() error { return l.drainForMaintenance(ctx, kept) },
				func() error { return l.maintain(ctx, kept) },
			)
		},
	}
}

// drainForMaintenance announces the maintenance of a node, and drains it. It sets one condition after another. kubeflap
// must report the announcement for each of the conditions.
func (l *Lab) drainForMaintenance(ctx context.Context, node string) error {
	return allOf(
		func() error { return l.announce(ctx, node, "MaintenancePlanned", "") },
		func() error { return l.cordon(ctx, node) },
		func() error { return l.announce(ctx, node, "DrainInProgress", "MaintenancePlanned") },
		func() error { return l.drainAll(ctx, []string{node}) },
		func() error { return l.announce(ctx, node, "Drained", "DrainInProgress") },
		func() error { return l.announce(ctx, node, "MaintenanceInProgress", "Drained") },
	)
}

// maintain reboots a node whose maintenance was announced, and withdraws the announcement.
func (l *Lab) maintain(ctx context.Context, node string) error {
	const uncordon = `{"spec":{"unschedulable":null}}`
	return allOf(
		func() error { l.Cluster.Kubelets[node].Stop(); return nil },
		func() error { return l.waitForNodeStatus(ctx, "unknown", node) },
		func() error { return l.departsBy(ctx, node, 1) },
		func() error { return l.Cluster.Boot(node) },
		func() error { return l.waitForNodeStatus(ctx, "true", node) },
		func() error { return l.departsBy(ctx, node, 1) },
		func() error { return l.patchNode(ctx, node, lifecycle("MaintenanceInProgress", "False")) },
		func() error {
			_, err := l.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, []byte(uncordon), metav1.PatchOptions{})
			return err
		},
		func() error { return l.departsBy(ctx, node, 0) },
	)
}

// announce sets a condition of a node to True. If the parameter previous is not empty, the same write sets the
// condition with that name to False. kubeflap must then report that the node is departing because of a condition.
func (l *Lab) announce(ctx context.Context, node, condition, previous string) error {
	conditions := []string{lifecycle(condition, "True")}
	if previous != "" {
		conditions = append(conditions, lifecycle(previous, "False"))
	}
	return allOf(
		func() error { return l.patchNode(ctx, node, strings.Join(conditions, ",")) },
		func() error { return l.departsBy(ctx, node, 1) },
	)
}

// lifecycle returns a condition with the current time, as a node maintenance controller would set it.
func lifecycle(condition, status string) string {
	return fmt.Sprintf(`{"type":%q,"status":%q,"reason":"Maintenance","lastTransitionTime":%s}`, condition, status, now())
}

// departsBy waits until kubeflap_node_departing has the given value for the reason "condition". The value is 1 if a
// condition announces that the node departs, and 0 otherwise.
func (c *Checks) departsBy(ctx context.Context, node string, is float64) error {
	return c.waitForReportedValue(ctx, is, "kubeflap_node_departing", "node", node, "reason", "condition")
}
