package scenario

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// These scenarios test the circuit breaker of the node controller (NodeControllerLeaseCircuitBreaker, v1.37). Before
// the node controller sets a node to Unknown, it reads the node's Lease from the API server. If that Lease differs from
// the Lease in the node controller's cache, or if the read fails, the breaker is open: the node controller sets no node
// to Unknown.

const (
	breakerNodes, breakerVictim = 3, "node-2"
	// breakerHolds is the minimum time for which the node must stay Ready after the grace period. After this time, the
	// scenario waits for the alert breakerAlert, which fires after 2 minutes. The node must stay Ready until this alert
	// has arrived.
	breakerHolds = 120 * time.Second
	breakerAlert = "KubeflapEndpointsWrong"
	breakerOff   = "--feature-gates=NodeControllerLeaseCircuitBreaker=false"
)

// openBreakerScenario completes a scenario in which a node stops while the breaker is open. The node stays Ready, and
// its pods stay in Services. Leader election is on, so kubeflap can rule out a change of the leader as the reason. The
// parameters open and shut are functions that open and close the breaker.
func openBreakerScenario(s Scenario, open, shut func(*Lab)) Scenario {
	s.Reports = []Report{{
		"controller_manager", "control_plane", "node_heartbeat_lost", "kube-controller-manager",
		"and still Ready, while the API server answered", "errors of its watch of Leases",
	}}
	s.Repeats = true
	s.Advised, s.NotAdvised = onlyAdvised("controller manager slow")
	s.LossesBy = "node_heartbeat_lost"
	s.Alerts = []Alert{{
		Name: breakerAlert,
		Says: []string{"ready on lost node"},
	}, {
		Name: "KubeflapControlPlaneFault", Remedy: "permission to get Leases",
	}, {
		Name: "KubeflapNodeLost", Object: "Node " + breakerVictim,
	}}
	s.Options.Release, s.Options.Nodes, s.Options.ControllerManagerPod = cluster.Newest, breakerNodes, true
	s.Options.ControllerManagerFlags = append([]string{graceFlag, everySecond, "--leader-elect"}, s.Options.ControllerManagerFlags...)
	s.Prepare = func(l *Lab) { spreadReady(l, breakerNodes) }
	s.Run = func(l *Lab) { dieUnseen(l, open, shut) }
	return s
}

// circuitBreakerOpen opens the breaker with a silent watch of Leases. The node controller can still read Leases.
func circuitBreakerOpen() Scenario {
	return openBreakerScenario(
		Scenario{
			Name:    "circuit-breaker-open",
			Summary: "the controller manager's watch of Leases delivers nothing: a failed node stays Ready, and its pods leave their Service only when the watch works again",
			Options: cluster.Options{ControllerManagerProxied: true},
		},
		func(l *Lab) { l.Cluster.ControllerManagerProxy.Freeze("leases") },
		func(l *Lab) { l.Cluster.ControllerManagerProxy.Thaw() },
	)
}

// circuitBreakerForbidden opens the breaker with a ClusterRole from before v1.37, as in a cluster whose administrators
// manage the roles of the control plane. The watch of Leases still works.
func circuitBreakerForbidden() Scenario {
	return openBreakerScenario(
		Scenario{
			Name:    "circuit-breaker-forbidden",
			Extra:   true,
			Summary: "the node controller has no permission to get Leases: a failed node stays Ready, and its pods stay in their Service",
			Options: cluster.Options{ControllerManagerFlags: []string{"--use-service-account-credentials"}},
		},
		func(l *Lab) { allowLeases(l, "list", "watch") },
		func(l *Lab) { allowLeases(l, "get", "list", "watch") },
	)
}

// allowLeases sets the verbs that the node controller may use on Leases.
func allowLeases(l *Lab, verbs ...string) {
	roles := l.Client.RbacV1().ClusterRoles()
	role := get(l, roles, "system:controller:node-controller")
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].Resources, "leases") {
			role.Rules[i].Verbs = verbs
		}
	}
	steps.Value(roles.Update(l.Ctx, role, metav1.UpdateOptions{}))
}

// dieUnseen pauses a node's kubelet while the breaker is open. The node is expected to become Unknown only after the
// breaker is closed.
func dieUnseen(l *Lab, open, shut func(*Lab)) {
	kubelet := l.Cluster.Kubelets[breakerVictim]
	l.WaitForHeartbeats()
	open(l)
	// If the watch is silent, the cached Lease of the node is out of date after this renewal. It therefore always differs
	// from the Lease in the API server.
	l.waitForLeaseRenewal(breakerVictim)
	l.Must(kubelet.Pause())
	l.Sleep(grace + breakerHolds)
	if l.Fired != nil {
		l.Must(l.Fired(l.Ctx, breakerAlert))
	}
	l.waitForCount(0, transitions, "status", "unknown")
	l.webHas(breakerNodes, "ready")
	shut(l)
	l.waitForCount(1, transitions, "status", "unknown")
	l.Must(kubelet.Resume())
	l.waitForNodeStatus("true", breakerVictim)
	l.webHas(breakerNodes, "ready")
}

// circuitBreakerOff disables the breaker. The node controller then sets nodes to Unknown although their Leases were
// renewed on time, as before v1.37.
func circuitBreakerOff() Scenario {
	return staleLeaseScenario(false, staleLeases, Scenario{
		Name:    "circuit-breaker-off",
		Extra:   true,
		Summary: "the circuit breaker is off, and the controller manager's watch of Leases is silent: nodes turn Unknown although all Leases are renewed on time",
		Options: cluster.Options{
			Release: cluster.Newest, ControllerManagerProxied: true,
			ControllerManagerFlags: []string{breakerOff},
		},
	})
}
