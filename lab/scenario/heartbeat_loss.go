package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// grace is the grace period in most scenarios. It is short, so that a silent node becomes Unknown soon. A heartbeat is
// late after half the grace period, and kubelets renew their Leases every 10.0 to 10.4 s. With a grace period of less
// than 20 s, kubeflap would report an incident about the grace period itself.
const grace = 24 * time.Second

// heartbeatLoss uses a short grace period on the newest release. On the oldest release, it tests the default grace
// period, because newer releases have another default.
func heartbeatLoss(release cluster.Release) Scenario {
	lost, flags := grace, []string{graceFlag(), "--node-monitor-period=1s"}
	if release == cluster.Oldest {
		lost, flags = release.DefaultGrace(), flags[1:]
	}
	return Scenario{
		ByRelease: true,
		Name:      "heartbeat-loss",
		Summary:   "one kubelet stops for longer than the grace period: its node turns Unknown, and its pods leave the Service",
		Reports:   []Report{{"node", "node", "node_heartbeat_lost", "", "", "--node-monitor-grace-period to "}},
		Repeats:   true,
		// The Service loses only the addresses on the paused kubelet's node.
		LossesBy: "node_heartbeat_lost",
		Pages: []Page{{
			Alert: "KubeflapNodeHeartbeatLost", Object: "Node node-2",
			Says:   []string{fmt.Sprintf("the grace period is %.0fs", lost.Seconds()), "the kubelet is too slow", "set --node-monitor-grace-period="},
			Remedy: "--node-monitor-grace-period to ",
		}},
		Options: cluster.Options{Nodes: 3, ControllerManagerPod: true, ControllerManagerFlags: flags},
		Prepare: func(ctx context.Context, l *Lab) error { return l.spreadReady(ctx, 6) },
		Run: func(ctx context.Context, l *Lab) error {
			const victim = "node-2"
			kubelet := l.Cluster.Kubelets[victim]
			return allOf(
				func() error { return l.WaitForHeartbeats(ctx) },
				kubelet.Pause,
				func() error { return l.waitForNodeStatus(ctx, "unknown", victim) },
				func() error { return l.webHas(ctx, 2, "not_ready") },
				func() error { return l.checkLate(victim, lost-time.Second) },
				// A kubeflap instance whose watch of Nodes is delayed can see the last heartbeat later. The silence
				// must exceed the grace period for that instance, too.
				func() error { return poll.Sleep(ctx, 3*time.Second) },
				kubelet.Resume,
				func() error { return l.waitForNodeStatus(ctx, "true", victim) },
				func() error { return l.webHas(ctx, 6, "ready") },
				func() error {
					return l.waitForCountAtLeast(ctx, 2, "kubeflap_service_address_bounces_total", "service", "web")
				},
			)
		},
	}
}

func graceFlag() string { return "--node-monitor-grace-period=" + grace.String() }
