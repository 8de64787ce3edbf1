package scenario

import (
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// This scenario tests the circuit breaker of the node controller (NodeControllerLeaseCircuitBreaker, v1.37). Before the
// node controller sets a node to Unknown, it reads the node's Lease from the API server. If that Lease differs from the
// Lease in the node controller's cache, or if the read fails, the breaker is open: the node controller sets no node to
// Unknown.

const (
	breakerNodes, breakerVictim = 3, "node-2"
	// breakerHolds is the minimum time for which the node must stay Ready after the grace period. After this time, the
	// scenario waits for the alert breakerAlert, which fires after 2 minutes. The node must stay Ready until this alert
	// has arrived.
	breakerHolds = 120 * time.Second
	breakerAlert = "KubeflapEndpointsWrong"
	breakerOff   = "--feature-gates=NodeControllerLeaseCircuitBreaker=false"
)

// circuitBreakerOpen stops a node while the breaker is open because of a silent watch of Leases. The node stays Ready,
// and its pods stay in Services. Leader election is on, so kubeflap can rule out a change of the leader as the reason.
func circuitBreakerOpen() Scenario {
	return Scenario{
		Name:    "circuit-breaker-open",
		Summary: "the controller manager's watch of Leases delivers nothing: a failed node stays Ready, and its pods leave their Service only when the watch works again",
		Reports: []Report{{
			"controller_manager", "control_plane", "node_heartbeat_lost", "kube-controller-manager",
			"and still Ready, while the API server answered", "errors of its watch of Leases",
		}},
		Repeats:  true,
		LossesBy: "node_heartbeat_lost",
		Alerts: []Alert{
			{Name: breakerAlert, Says: []string{"ready on lost node"}},
			{Name: "KubeflapControlPlaneFault", Remedy: "permission to get Leases"},
			{Name: "KubeflapNodeLost", Object: "Node " + breakerVictim},
		},
		Options: cluster.Options{
			Release: cluster.Newest, Nodes: breakerNodes, ControllerManagerPod: true, Proxied: true,
			ControllerManagerFlags: []string{graceFlag, everySecond, "--leader-elect"},
		},
		Prepare: func(l *Lab) { spreadReady(l, breakerNodes) },
		Run:     dieUnseen,
	}
}

// dieUnseen pauses a node's kubelet while the breaker is open. The node is expected to become Unknown only after the
// breaker is closed.
func dieUnseen(l *Lab) {
	kubelet := l.Cluster.Kubelets[breakerVictim]
	l.WaitForHeartbeats()
	manager := l.Cluster.Proxies[cluster.ControllerManagerName]
	manager.Freeze("leases")
	// The cached Lease of the node is out of date after this renewal. It therefore always differs from the Lease in the
	// API server.
	l.waitForLeaseRenewal(breakerVictim)
	kubelet.Pause()
	l.Sleep(grace + breakerHolds)
	l.Must(l.Fired(l.Ctx, breakerAlert))
	l.waitForCount(0, transitions, "status", "unknown")
	l.webHas(breakerNodes, "ready")
	manager.Thaw()
	l.waitForCount(1, transitions, "status", "unknown")
	kubelet.Resume()
	l.waitForNodeStatus("true", breakerVictim)
	l.webHas(breakerNodes, "ready")
}
