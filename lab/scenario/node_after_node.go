package scenario

import (
	"context"
	"fmt"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// inTurnApart is the minimum time between the last heartbeats of two nodes. If it were 11.5 s or less, kubeflap would
// treat the two nodes as silent together.
const inTurnApart = 12500 * time.Millisecond

// nodeAfterNode makes 8 of 9 nodes silent one after another, as if a shared component failed. No two nodes fall silent
// together.
func nodeAfterNode() Scenario {
	const nodes, victims = 9, 8
	return Scenario{
		Name:    "node-after-node",
		Summary: "8 of 9 nodes fall silent one after the other, no two at the same time",
		Extra:   true,
		Reports: []Report{
			{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", "8 nodes fell silent one after another within an hour", "etcd"},
		},
		// A few silent nodes may be a coincidence, so each of the first nodes has its own alert.
		Pages: []Page{
			lostPage("", "etcd"),
			{Alert: "KubeflapHeartbeatsLateClusterWide", Says: []string{"one after another", "not the kubelets"}, Remedy: "etcd"},
		},
		Advised: []string{"control plane late"}, NotAdvised: []string{"nodes slow"},
		Options: cluster.Options{
			Nodes: nodes, ControllerManagerPod: true,
			ControllerManagerFlags: []string{graceFlag(), "--node-monitor-period=1s"},
		},
		Run: func(ctx context.Context, l *Lab) error {
			if err := l.WaitForHeartbeats(ctx); err != nil {
				return err
			}
			return silenceInTurn(ctx, l, victims)
		},
	}
}

// silenceInTurn pauses the given number of kubelets one after another. It pauses a kubelet right after a heartbeat, and
// resumes it when its node is Unknown.
func silenceInTurn(ctx context.Context, l *Lab, victims int) error {
	left := map[string]bool{}
	for node := range l.Cluster.Kubelets {
		left[node] = true
	}
	group, ctx := errgroup.WithContext(ctx)
	for range victims {
		node, err := l.beatsFirst(ctx, left)
		if err != nil {
			return err
		}
		delete(left, node)
		kubelet := l.Cluster.Kubelets[node]
		if err := kubelet.Pause(); err != nil {
			return err
		}
		group.Go(func() error {
			return allOf(
				func() error { return l.waitForNodeStatus(ctx, "unknown", node) },
				kubelet.Resume,
				func() error { return l.waitForNodeStatus(ctx, "true", node) },
			)
		})
		if err := poll.Sleep(ctx, inTurnApart); err != nil {
			return err
		}
	}
	return group.Wait()
}

// beatsFirst waits until one of the nodes sends a heartbeat, and returns that node.
func (c *Checks) beatsFirst(ctx context.Context, nodes map[string]bool) (first string, err error) {
	const heartbeats = "kubeflap_node_heartbeats_total"
	before, err := c.Truth.Counts()
	if err != nil {
		return "", err
	}
	err = poll.Until(ctx, patience, "the next heartbeat", func(context.Context) error {
		now, err := c.Truth.Counts()
		if err != nil {
			return err
		}
		for node := range nodes {
			if now.Sum(heartbeats, "node", node) > before.Sum(heartbeats, "node", node) {
				first = node
				return nil
			}
		}
		return fmt.Errorf("no heartbeat from any of %d nodes", len(nodes))
	})
	return first, err
}
