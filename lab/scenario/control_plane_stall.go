package scenario

import (
	"context"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// stall is the grace period and time for the node controller's next look.
// What it then writes waits in the API server and goes through as soon as etcd
// answers, before the kubelets' next try. When it waits for longer it may be told that the write failed although it went through, finds the
// node Unknown already, and marks no pods.
const stall = grace + 8*time.Second

func controlPlaneStall() Scenario {
	const nodes = 4
	return Scenario{
		Name:       "control-plane-stall",
		Summary:    "etcd stops for longer than the grace period: every node is late at the same time and turns Unknown",
		Incident:   Incident{"control_plane", "node_heartbeat_lost", "shared_path", "etcd"},
		Alone:      true,
		LastLosses: map[string]string{"web": "node_heartbeat_lost"},
		Pages: []Page{{
			Alert:  "KubeflapHeartbeatsLateClusterWide",
			Says:   []string{"4 of 4 nodes", "not the kubelets", "etcd's disk and load first", "Leave the grace period as it is"},
			Remedy: "etcd's disk and load first",
		}},
		Quiet:     []string{"KubeflapNodeHeartbeatLost"},
		ByRelease: true,
		Options: cluster.Options{
			Nodes: nodes, ControllerManagerPod: true,
			// The node controller is stuck in its first look that finds a node late: a
			// node that is not late by then is judged after the stall, when it renews
			// again. With the default period one look finds nearly always all.
			ControllerManagerFlags: []string{graceFlag(), "--node-monitor-period=5s"},
		},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.spread(ctx, nodes, nil) },
				func() error { return l.inRotation(ctx, "shop", "web", nodes) },
				func() error { return l.untainted(ctx) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.EveryNodeBeats(ctx) },
				func() error { return l.stallUntilNoticed(ctx) },
				func() error { return l.allWereLate(grace) },
				func() error {
					return l.shows(ctx, nodes, "kubeflap_service_addresses", "service", "web", "state", "ready")
				},
			)
		},
	}
}

// stallUntilNoticed stops etcd until the node controller has lost a node for it, and its pods. How many it loses is its luck, and on a busy
// machine it may be none; that all are late is not.
func (l *Lab) stallUntilNoticed(ctx context.Context) error {
	const attempts = 3
	var err error
	for range attempts {
		err = allOf(
			l.Cluster.Etcd.Pause,
			func() error { return poll.Sleep(ctx, stall) },
			l.Cluster.Etcd.Resume,
			func() error { return poll.Until(ctx, grace, "the node controller to lose a node", l.lostANode) },
		)
		if err == nil || ctx.Err() != nil {
			return err
		}
		l.Log.Info("the node controller did not notice, once more", "err", err)
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

// EveryNodeBeats waits for a heartbeat of each hollow node: the length of an
// interval is known only when its beginning was seen.
func (c *Checks) EveryNodeBeats(ctx context.Context) error {
	for node := range c.cluster.Kubelets {
		if err := c.counted(ctx, 1, "kubeflap_node_heartbeats_total", "node", node); err != nil {
			return err
		}
	}
	return nil
}

// beatsAgain waits for a node's next heartbeat.
func (c *Checks) beatsAgain(ctx context.Context, node string) error {
	const heartbeats = "kubeflap_node_heartbeats_total"
	counts, err := c.Truth.Counts()
	if err != nil {
		return err
	}
	return c.counted(ctx, counts.Sum(heartbeats, "node", node)+1, heartbeats, "node", node)
}

// untainted waits until the node controller has taken the taints off the new
// nodes. Stopped in the middle of that it would judge nobody during the stall.
func (c *Checks) untainted(ctx context.Context) error {
	return poll.Until(ctx, patience, "nodes without taints", func(ctx context.Context) error {
		nodes, err := c.cluster.Client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err != nil {
			return fmt.Errorf("list nodes: %w", err)
		}
		for _, node := range nodes.Items {
			if len(node.Spec.Taints) > 0 {
				return fmt.Errorf("%s still has %v", node.Name, node.Spec.Taints)
			}
		}
		return nil
	})
}

// allWereLate checks what points at the control plane: no node was in time.
func (c *Checks) allWereLate(least time.Duration) error {
	for node := range c.cluster.Kubelets {
		if err := c.wasLate(node, least); err != nil {
			return err
		}
	}
	return nil
}

// wasLate checks that a node let that much time pass without a heartbeat.
func (c *Checks) wasLate(node string, least time.Duration) error {
	counts, err := c.Truth.Counts()
	if err != nil {
		return err
	}
	if longest := counts.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node); longest < least.Seconds() {
		return fmt.Errorf("%s was never later than %.1f s", node, longest)
	}
	return nil
}
