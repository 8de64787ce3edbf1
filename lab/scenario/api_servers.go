package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// apiServerUnreachable pauses one of three API servers. A third of the kubelets are the only clients of this server.
func apiServerUnreachable() Scenario {
	const nodes, servers = 9, 3
	var lost []string
	for i := 1; i < nodes; i += servers {
		lost = append(lost, cluster.NodeName(i))
	}
	advised, others := onlyAdvised("control plane late")
	return Scenario{
		Name:    "apiserver-unreachable",
		Extra:   true,
		Summary: "one of three API servers is paused: a third of the kubelets use it, and cannot renew their Leases",
		Reports: []Report{{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", fmt.Sprintf("%d of %d nodes fell silent within", len(lost), nodes), ""}},
		Repeats: true,
		Advised: advised, NotAdvised: others,
		LossesBy: "node_heartbeat_lost",
		Pages: []Page{{
			Alert: "KubeflapHeartbeatsLateClusterWide",
			Says:  []string{fmt.Sprintf("%d of %d nodes", len(lost), nodes)},
		}},
		Quiet: []string{"KubeflapNodeHeartbeatLost"},
		Options: cluster.Options{
			Nodes: nodes, APIServers: servers, KubeletServers: servers, ControllerManagerPod: true,
			ControllerManagerFlags: []string{graceFlag(), "--node-monitor-period=1s"},
		},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.spreadReady(ctx, nodes) },
				func() error { return l.waitForNoTaints(ctx) },
			)
		},
		Run: func(ctx context.Context, l *Lab) error {
			server := l.Cluster.APIServers[1]
			return allOf(
				func() error { return l.WaitForHeartbeats(ctx) },
				server.Pause,
				func() error { return l.webHas(ctx, len(lost), "not_ready") },
				// Wait until the API server has missed two renewals of its Lease. After that, kubeflap can name this
				// server.
				func() error { return poll.Sleep(ctx, 20*time.Second) },
				server.Resume,
				func() error { return l.webHas(ctx, nodes, "ready") },
				func() error { return checkOnlyLate(l, lost, grace-time.Second) },
			)
		},
	}
}

// checkOnlyLate checks that the given nodes were late, and that no other node was.
func checkOnlyLate(l *Lab, lost []string, least time.Duration) error {
	late := map[string]bool{}
	for _, node := range lost {
		late[node] = true
		if err := l.checkLate(node, least); err != nil {
			return err
		}
	}
	for node := range l.Cluster.Kubelets {
		if !late[node] && l.checkLate(node, grace/2) == nil {
			return fmt.Errorf("%s was also late", node)
		}
	}
	return nil
}

// etcdUnreachable disconnects one of two API servers from etcd. Only kubeflap uses this server. kubeflap cannot see
// that the nodes are healthy until its watches work again.
func etcdUnreachable() watchFault {
	return watchFault{
		name: "etcd-unreachable", summary: "the API server that kubeflap uses cannot reach etcd, while all others use another API server",
		blind: watched(), lasts: 2 * time.Minute,
		begin: func(l *Lab) { l.Cluster.EtcdLinks[1].Cut() },
		end:   func(l *Lab) { l.Cluster.EtcdLinks[1].Mend() },
	}
}
