package scenario

import (
	"context"
	"slices"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// removalTaint is the taint with which the Cluster Autoscaler announces that it will delete a node.
const removalTaint = `[{"key":"ToBeDeletedByClusterAutoscaler","value":"1","effect":"NoSchedule"}]`

// unhurried is a flag that sets a long grace period. The kubelets are paused while kubeflap starts, and with a shorter
// grace period, their heartbeats would be late. After a late heartbeat, kubeflap would not treat a cordon as an
// announcement.
const unhurried = "--node-monitor-grace-period=40s"

// alertSent is the maximum time until an alert about a node has been sent. It includes a scrape, an evaluation, and
// Alertmanager's group_wait of 30 s.
const alertSent = time.Minute

// departures removes nodes in different ways. Each node is silent for longer than the grace period, so the node
// controller marks it Unknown. The nodes differ in what announces the removal, and in what happens to the machine.
func departures() Scenario {
	const nodes, lost = 8, "node_heartbeat_lost"
	cordoned, scaled := "node-2", []string{"node-3", "node-4", "node-5", "node-6"}
	rebooted, reclaimed := "node-7", "node-8"
	want := []Report{
		{"planned", "node", lost, cordoned, "announced by a cordon", "Nothing is at fault"},
		{"node_rebooted", "node", lost, rebooted, "a new bootID", "Find out why the machine of " + rebooted + " restarted"},
		{"undecided", "node", lost, reclaimed, "the machine is gone: it was reclaimed, or it failed and was replaced", "To find out: "},
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
		Pages: []Page{
			lostPage(rebooted, "Find out why the machine of "+rebooted+" restarted"),
			lostPage(reclaimed, "To find out: "),
		},
		Options: cluster.Options{
			Nodes: nodes, ControllerManagerPod: true,
			ControllerManagerFlags: []string{unhurried, "--node-monitor-period=1s"},
		},
		Prepare: func(ctx context.Context, l *Lab) error { return l.spreadReady(ctx, nodes) },
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.WaitForHeartbeats(ctx) },
				func() error { return l.cordon(ctx, cordoned) },
				func() error { return l.taintAll(ctx, scaled, removalTaint) },
				func() error { return departBeside(ctx, l, append(scaled, cordoned), rebooted) },
				func() error { return l.leaveUnannounced(ctx, reclaimed) },
				// The garbage collector deletes the pod of the reclaimed node. No controller creates a new one.
				func() error { return l.webHas(ctx, nodes-1, "ready") },
			)
		},
	}
}

// departBeside drains and removes the announced nodes. While these nodes are silent, another node reboots without an
// announcement.
func departBeside(ctx context.Context, l *Lab, leaving []string, rebooted string) error {
	return allOf(
		func() error { return l.drainAll(ctx, leaving) },
		func() error { l.shutDown(leaving...); return nil },
		func() error { l.Cluster.Kubelets[rebooted].Stop(); return nil },
		func() error { return l.waitForNodeStatus(ctx, "unknown", append(leaving, rebooted)...) },
		func() error { return l.deleteNodes(ctx, leaving...) },
		func() error { return l.Cluster.Boot(rebooted) },
		func() error { return l.waitForNodeStatus(ctx, "true", rebooted) },
	)
}

// leaveUnannounced removes a machine, like a cloud that reclaims it without notice.
func (l *Lab) leaveUnannounced(ctx context.Context, node string) error {
	return allOf(
		func() error { l.shutDown(node); return nil },
		func() error { return l.waitForNodeStatus(ctx, "unknown", node) },
		func() error { return poll.Sleep(ctx, alertSent) }, // the time that a cloud takes to notice
		func() error { return l.deleteNodes(ctx, node) },
	)
}

// lostPage returns the expected page for a node whose heartbeats stop without an announcement.
func lostPage(node, remedy string) Page {
	return Page{Alert: "KubeflapNodeHeartbeatLost", Object: "Node " + node, Remedy: remedy}
}

// drainAll replaces the pods of the given nodes with pods on the first node. For example, it replaces pod web-3 of
// node-3 with pod web-3-new.
func (l *Lab) drainAll(ctx context.Context, nodes []string) error {
	pods := len(l.Cluster.Kubelets)
	for i := range pods {
		if node := cluster.NodeName(i); slices.Contains(nodes, node) {
			if err := l.create(ctx, newPod("shop", podName(i)+"-new", cluster.NodeName(0), "web")); err != nil {
				return err
			}
		}
	}
	if err := l.waitForReadyAddresses(ctx, "shop", "web", pods+len(nodes)); err != nil {
		return err
	}
	for i := range pods {
		if !slices.Contains(nodes, cluster.NodeName(i)) {
			continue
		}
		eviction := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: podName(i)}}
		if err := l.Client.PolicyV1().Evictions("shop").Evict(ctx, eviction); err != nil {
			return err
		}
		if err := l.waitForPodGone(ctx, "shop", podName(i)); err != nil {
			return err
		}
	}
	return l.waitForReadyAddresses(ctx, "shop", "web", pods)
}

// shutDown removes the machines of nodes. Their Node objects stay.
func (s *Steps) shutDown(nodes ...string) {
	for _, node := range nodes {
		s.Cluster.Remove(node)
	}
}

func (s *Steps) taintAll(ctx context.Context, nodes []string, taints string) error {
	for _, node := range nodes {
		if err := s.setTaints(ctx, node, taints); err != nil {
			return err
		}
	}
	return nil
}

func (s *Steps) deleteNodes(ctx context.Context, nodes ...string) error {
	for _, node := range nodes {
		if err := s.Client.CoreV1().Nodes().Delete(ctx, node, metav1.DeleteOptions{}); err != nil {
			return err
		}
	}
	return nil
}
