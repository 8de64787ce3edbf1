package scenario

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

func shortFlap() Scenario {
	const node = "brief"
	return Scenario{
		Name:       "short-flap",
		Summary:    "a node is NotReady for less than a second, between two scrapes",
		Options:    cluster.Options{},
		NextScrape: true,
		// The node has no kubelet, so only the scenario writes the node's status. The node controller's grace period is
		// longer than the scenario.
		Prepare: func(ctx context.Context, l *Lab) error { return l.createNode(ctx, node) },
		Run: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.setNodeReady(ctx, node, corev1.ConditionFalse) },
				func() error { return poll.Sleep(ctx, 200*time.Millisecond) },
				func() error { return l.setNodeReady(ctx, node, corev1.ConditionTrue) },
				func() error { return l.waitForNodeStatus(ctx, "false", node) },
				func() error { return l.waitForNodeStatus(ctx, "true", node) },
			)
		},
	}
}
