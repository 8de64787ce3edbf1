package scenario

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// stall is how long etcd is paused. It is longer than the grace period, so the node controller tries to set nodes to
// Unknown. Its writes wait in the API server and succeed when etcd continues, before the kubelets retry. With a longer
// pause, the node controller could get an error for a write that succeeded. It would then find the node already
// Unknown, and would not set the node's pods to not ready.
const stall = grace + 8*time.Second

// controlPlaneStall disables the circuit breaker. With the breaker, the node controller reads a node's Lease again
// after the stall. If the kubelet has renewed the Lease by then, the node does not become Unknown. It could happen that
// no node becomes Unknown. The scenario etcd-stall tests the breaker.
func controlPlaneStall(release cluster.Release) Scenario {
	const nodes = 4
	// During the stall, the node controller blocks at the first late node that it finds. If other nodes are not late
	// yet, they can renew their Leases when the stall ends, and stay Ready. With the default period of 5s, almost all
	// checks begin when all nodes are already late.
	flags := []string{graceFlag(), "--node-monitor-period=5s"}
	if hasCircuitBreaker(release) {
		flags = append(flags, breakerOff)
	}
	return Scenario{
		Name:     "control-plane-stall",
		Summary:  "etcd stops for longer than the grace period: every node is late at the same time and turns Unknown",
		Reports:  []Report{{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", "", "etcd"}},
		Repeats:  true,
		LossesBy: "node_heartbeat_lost",
		Pages: []Page{{
			// The page can be sent before the last node is late, because the nodes send their heartbeats at different
			// times.
			Alert:  "KubeflapHeartbeatsLateClusterWide",
			Says:   []string{" of 4 nodes", "not the kubelets", "etcd's disk and load first", "Leave the grace period as it is"},
			Remedy: "etcd's disk and load first",
		}},
		Quiet:     []string{"KubeflapNodeHeartbeatLost"},
		ByRelease: true,
		Options: cluster.Options{
			Nodes: nodes, ControllerManagerPod: true, ControllerManagerFlags: flags,
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
				func() error { return l.stallUntilNoticed(ctx) },
				func() error { return l.checkAllLate(grace) },
				func() error { return l.webHas(ctx, nodes, "ready") },
			)
		},
	}
}

// stallUntilNoticed pauses etcd until the node controller has set a node to Unknown and its pods to not ready. All
// nodes are late in each pause, but it is random how many of them become Unknown. On a busy machine, there may be none,
// so stallUntilNoticed tries up to three times.
func (l *Lab) stallUntilNoticed(ctx context.Context) error {
	const attempts = 3
	var err error
	for range attempts {
		err = allOf(
			l.Cluster.Etcd.Pause,
			func() error { return poll.Sleep(ctx, stall) },
			l.Cluster.Etcd.Resume,
			func() error { return poll.Until(ctx, grace, "the node controller to mark a node", l.lostANode) },
		)
		if err == nil || ctx.Err() != nil {
			return err
		}
		l.Log.Info("the node controller marked no node; trying again", "err", err)
	}
	return err
}

func (c *Checks) lostANode(context.Context) error {
	counts, err := c.Truth.Counts()
	if err != nil {
		return err
	}
	unknown := counts.Sum("kubeflap_node_ready_transitions_total", "status", "unknown")
	flips := counts.Sum("kubeflap_service_address_flips_total", "to", "not_ready")
	if unknown < 1 || flips < 1 {
		return fmt.Errorf("%v nodes turned Unknown and %v addresses not ready so far", unknown, flips)
	}
	return nil
}

// WaitForHeartbeats waits for a heartbeat of each hollow node. kubeflap and the recorder measure an interval only if
// they have seen the heartbeats at both ends.
func (c *Checks) WaitForHeartbeats(ctx context.Context) error {
	for node := range c.cluster.Kubelets {
		if err := c.waitForCountAtLeast(ctx, 1, "kubeflap_node_heartbeats_total", "node", node); err != nil {
			return err
		}
	}
	return nil
}

// waitForLeaseRenewal waits until a node's Lease is renewed. An update of the node's status is not enough.
func (c *Checks) waitForLeaseRenewal(ctx context.Context, node string) error {
	leases := c.cluster.Client.CoordinationV1().Leases(corev1.NamespaceNodeLease)
	before, err := leases.Get(ctx, node, metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the Lease of %s: %w", node, err)
	}
	return poll.Until(ctx, patience, "a renewal of the Lease of "+node, func(ctx context.Context) error {
		now, err := leases.Get(ctx, node, metav1.GetOptions{})
		switch {
		case err != nil:
			return fmt.Errorf("read the Lease of %s: %w", node, err)
		case now.Spec.RenewTime.Equal(before.Spec.RenewTime):
			return fmt.Errorf("it was last renewed at %s", now.Spec.RenewTime)
		}
		return nil
	})
}

// waitForNoTaints waits until the node controller has removed the taints of new nodes. If etcd stalled during the
// removal, the node controller would wait for it, and would not check the nodes' heartbeats.
func (c *Checks) waitForNoTaints(ctx context.Context) error {
	return poll.Until(ctx, patience, "nodes to have no taints", func(ctx context.Context) error {
		nodes, err := c.cluster.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, node := range nodes.Items {
			if len(node.Spec.Taints) > 0 {
				return fmt.Errorf("%s still has %v", node.Name, node.Spec.Taints)
			}
		}
		return nil
	})
}

// checkAllLate checks that every node was late.
func (c *Checks) checkAllLate(least time.Duration) error {
	for node := range c.cluster.Kubelets {
		if err := c.checkLate(node, least); err != nil {
			return err
		}
	}
	return nil
}

// checkLate checks that a node sent no heartbeat for at least the given time.
func (c *Checks) checkLate(node string, least time.Duration) error {
	counts, err := c.Truth.Counts()
	if err != nil {
		return err
	}
	if longest := counts.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node); longest < least.Seconds() {
		return fmt.Errorf("%s was never later than %.1f s", node, longest)
	}
	return nil
}
