package scenario

import (
	"context"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// shortGrace makes a lost heartbeat known soon: the kubelet's 10 s and a little more.
func shortGrace() []string {
	return []string{"--node-monitor-grace-period=12s", "--node-monitor-period=1s"}
}

func heartbeatLoss() Scenario {
	return Scenario{
		Name:     "heartbeat-loss",
		Summary:  "one kubelet stops longer than the grace period: its node turns Unknown, its pods leave the Service",
		Incident: Incident{"node", "node_heartbeat_lost", "--node-monitor-grace-period to 60s"},
		Options:  cluster.Options{Nodes: 3, ControllerManagerFlags: shortGrace(), ControllerManagerPod: true},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.spread(ctx, 6, nil) },
				func() error { return l.inRotation(ctx, "shop", "web", 6) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			const victim = "node-2"
			kubelet := l.Cluster.Kubelets[victim]
			return allOf(
				func() error { return l.EveryNodeBeats(ctx) },
				kubelet.Pause,
				func() error {
					return l.counted(ctx, 1, "kubeflap_node_ready_transitions_total", "node", victim, "status", "unknown")
				},
				func() error {
					return l.shows(ctx, 2, "kubeflap_service_addresses", "service", "web", "state", "not_ready")
				},
				kubelet.Resume,
				func() error {
					return l.counted(ctx, 1, "kubeflap_node_ready_transitions_total", "node", victim, "status", "true")
				},
				func() error { return l.shows(ctx, 6, "kubeflap_service_addresses", "service", "web", "state", "ready") },
				func() error { return l.counted(ctx, 2, "kubeflap_service_address_bounces_total", "service", "web") },
			)
		},
	}
}
