package scenario

import (
	"context"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/proxy"
)

const zoneLabel = "topology.kubernetes.io/zone"

// zoneCut causes three separate faults: two slow kubelets, and then a network failure of a zone. kubeflap must report
// them as separate incidents.
func zoneCut() Scenario {
	const nodes, zones = 9, 3
	slow, cut := []string{"node-2", "node-4"}, []string{"node-3", "node-6", "node-9"}
	return Scenario{
		Name:    "zone-cut",
		Extra:   true,
		Summary: "two kubelets are slow one after the other; then the network between a zone with a third of the nodes and the API server is cut",
		Reports: []Report{
			{"node", "node", "node_heartbeat_lost", slow[0], "the other 8 nodes sent their heartbeats on time", "--node-monitor-grace-period to "},
			{"node", "node", "node_heartbeat_lost", slow[1], "the other 8 nodes sent their heartbeats on time", "--node-monitor-grace-period to "},
			{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", "they are the only nodes with " + zoneLabel + "=zone-3", "what only these nodes share"},
		},
		Advised: []string{"control plane late", "3 of 9 nodes late: ", "what only these nodes share", "nodes slow", "2 of 9 nodes late: "},
		Pages: []Page{
			lostPage(slow[0], "--node-monitor-grace-period to "),
			lostPage(slow[1], "--node-monitor-grace-period to "),
			{
				Alert: "KubeflapHeartbeatsLateClusterWide", Says: []string{"3 of 9 nodes", "not the kubelets", "If the other nodes are on time, etcd works"},
				Remedy: "what only these nodes share",
			},
		},
		// The alert for the zone inhibits these alerts for its three nodes.
		Quiet:    []string{"KubeflapNodeHeartbeatLost"},
		LossesBy: "node_heartbeat_lost",
		Options: cluster.Options{
			Nodes: nodes, ControllerManagerPod: true, KubeletsLinked: true,
			ControllerManagerFlags: []string{graceFlag(), "--node-monitor-period=1s"},
		},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.labelZones(ctx, zones) },
				func() error { return l.spreadReady(ctx, nodes) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error { return slowThenCut(ctx, l, slow, cut) },
	}
}

// slowThenCut pauses the kubelets of the slow nodes one after the other, and then cuts the network of other nodes.
func slowThenCut(ctx context.Context, l *Lab, slow, cut []string) error {
	if err := l.WaitForHeartbeats(ctx); err != nil {
		return err
	}
	for _, node := range slow {
		kubelet := l.Cluster.Kubelets[node]
		if err := l.silenced(ctx, kubelet.Pause, kubelet.Resume, node); err != nil {
			return err
		}
	}
	// Wait until the alerts for the two slow nodes have been sent. Later, the alert for the zone would inhibit them.
	if err := poll.Sleep(ctx, alertSent); err != nil {
		return err
	}
	return l.silenced(ctx, onLinks(l, cut, (*proxy.Link).Cut), onLinks(l, cut, (*proxy.Link).Mend), cut...)
}

// silenced makes nodes silent with the function begin, and waits until they are Unknown. Then it ends the fault with
// the function end, and waits until all of these nodes have recovered.
func (l *Lab) silenced(ctx context.Context, begin, end func() error, nodes ...string) error {
	return allOf(
		begin,
		func() error { return l.waitForNodeStatus(ctx, "unknown", nodes...) },
		end,
		func() error { return l.waitForNodeStatus(ctx, "true", nodes...) },
		func() error { return l.webHas(ctx, len(l.Cluster.Kubelets), "ready") },
	)
}

// waitForNodeStatus waits until the Ready condition of each node has changed to the given status.
func (c *Checks) waitForNodeStatus(ctx context.Context, status string, nodes ...string) error {
	for _, node := range nodes {
		if err := c.waitForCountAtLeast(ctx, 1, "kubeflap_node_ready_transitions_total", "node", node, "status", status); err != nil {
			return err
		}
	}
	return nil
}

// onLinks returns a function that cuts or mends the connections between the given nodes and the API server.
func onLinks(l *Lab, nodes []string, do func(*proxy.Link)) func() error {
	return func() error {
		for _, node := range nodes {
			do(l.Cluster.KubeletLinks[node])
		}
		return nil
	}
}

// labelZones distributes the nodes over the given number of zones.
func (s *Steps) labelZones(ctx context.Context, zones int) error {
	for i := range len(s.Cluster.Kubelets) {
		if err := s.labelNode(ctx, cluster.NodeName(i), zoneLabel, fmt.Sprintf("zone-%d", 1+i%zones)); err != nil {
			return err
		}
	}
	return nil
}

func (s *Steps) labelNode(ctx context.Context, node, key, value string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"labels":{%q:%q}}}`, key, value)
	_, err := s.Client.CoreV1().Nodes().Patch(ctx, node, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}
