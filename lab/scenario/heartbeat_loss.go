package scenario

import (
	"context"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// grace is short, so that a lost heartbeat is known soon, but not too tight for kubelets
// that renew every 10.0 to 10.4 s: half of it is a late heartbeat, and below 20 s is an incident of its own.
const grace = 24 * time.Second

func heartbeatLoss() Scenario {
	return Scenario{
		Name:     "heartbeat-loss",
		Summary:  "one kubelet stops longer than the grace period: its node turns Unknown, its pods leave the Service",
		Incident: Incident{"node", "node_heartbeat_lost", "--node-monitor-grace-period to 60s"},
		Pages: []Page{{
			Alert: "KubeflapNodeHeartbeatLost", Object: "Node node-2",
			Says:   []string{"the grace period is 24s", "the kubelet is too slow", "of 1m 0s is enough"},
			Remedy: "--node-monitor-grace-period to 60s",
		}},
		Options: cluster.Options{Nodes: 3, ControllerManagerPod: true, ControllerManagerFlags: []string{graceFlag(), "--node-monitor-period=1s"}},
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

func graceFlag() string { return "--node-monitor-grace-period=" + grace.String() }
