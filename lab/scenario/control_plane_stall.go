package scenario

import (
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// stall is how long a part of the control plane is paused. It is longer than the grace period, so the node controller
// tries to set nodes to Unknown. Its writes wait in the API server and succeed when the stall ends, before the kubelets
// retry. With a longer pause, the node controller could get an error for a write that succeeded. It would then find the
// node already Unknown, and would not set the node's pods to not ready.
const stall = grace + 8*time.Second

// controlPlaneStall pauses etcd. All nodes are late at the same time. It disables the circuit breaker. With the breaker,
// the node controller reads a node's Lease again after the stall. If the kubelet has renewed the Lease by then, the node
// does not become Unknown. It could happen that no node becomes Unknown. The scenario etcd-stall tests the breaker.
func controlPlaneStall(release cluster.Release) Scenario {
	const nodes = 4
	// During the stall, the node controller blocks at the first late node that it finds. If other nodes are not late
	// yet, they can renew their Leases when the stall ends, and stay Ready. With the default period of 5s, almost all
	// checks begin when all nodes are already late.
	flags := []string{graceFlag, "--node-monitor-period=5s"}
	if hasCircuitBreaker(release) {
		flags = append(flags, breakerOff)
	}
	return Scenario{
		Name:      "control-plane-stall",
		Summary:   "etcd stops for longer than the grace period: every node is late at the same time and turns Unknown",
		ByRelease: true,
		Reports:   []Report{{"shared_path", "control_plane", "node_heartbeat_lost", "control plane", "", "etcd"}},
		Repeats:   true,
		LossesBy:  "node_heartbeat_lost",
		Alerts: []Alert{{
			Name:   "KubeflapControlPlaneFault",
			Says:   []string{"Verdict: shared path"},
			Remedy: "etcd's disk and load first",
		}, {Name: "KubeflapNodeLost"}},
		Options: cluster.Options{Nodes: nodes, ControllerManagerPod: true, ControllerManagerFlags: flags},
		Prepare: func(l *Lab) { spreadReady(l, nodes) },
		Run: func(l *Lab) {
			l.WaitForHeartbeats()
			// All nodes are late in each pause, but it is random how many of them become Unknown. On a busy machine, there
			// may be none.
			l.retry(func(l *Lab) {
				l.Cluster.Etcd.Pause()
				l.Sleep(stall)
				l.Cluster.Etcd.Resume()
			}, "the node controller to mark a node", checkNodeLost)
			l.checkLate(grace, l.nodes()...)
			l.webHas(nodes, "ready")
		},
	}
}
