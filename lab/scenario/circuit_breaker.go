package scenario

import (
	"context"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
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
	breakerAlert = "KubeflapSilentNodesReady"
	breakerOff   = "--feature-gates=NodeControllerLeaseCircuitBreaker=false"
)

// openBreakerScenario completes a scenario in which a node stops while the breaker is open. The node stays Ready, and
// its pods stay in Services. Leader election is on, so kubeflap can rule out a change of the leader as the reason. The
// parameters open and shut are functions that open and close the breaker.
func openBreakerScenario(s Scenario, open, shut func(context.Context, *Lab) error) Scenario {
	s.Reports = []Report{{
		"controller_manager", "control_plane", "node_heartbeat_lost", "kube-controller-manager",
		"and still Ready, while the API server answered", "errors of its watch of Leases",
	}}
	s.Repeats = true
	s.Advised, s.NotAdvised = onlyAdvised("controller manager slow")
	s.LossesBy = "node_heartbeat_lost"
	s.Pages = []Page{{
		Alert:  breakerAlert,
		Says:   []string{breakerVictim, "their addresses", "or it does not trust its data"},
		Remedy: "permission to get Leases",
	}, {
		// This page is sent right after the grace period, before it is known that the node stays Ready.
		Alert: "KubeflapNodeHeartbeatLost", Object: "Node " + breakerVictim,
	}}
	s.Options.Release, s.Options.Nodes, s.Options.ControllerManagerPod = cluster.Newest, breakerNodes, true
	s.Options.ControllerManagerFlags = append([]string{graceFlag(), "--node-monitor-period=1s", "--leader-elect"}, s.Options.ControllerManagerFlags...)
	s.Prepare = func(ctx context.Context, l *Lab) error { return l.spreadReady(ctx, breakerNodes) }
	s.Run = func(ctx context.Context, l *Lab) error { return dieUnseen(ctx, l, open, shut) }
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
		func(_ context.Context, l *Lab) error {
			l.Cluster.ControllerManagerProxy.Freeze("leases")
			return nil
		},
		func(_ context.Context, l *Lab) error {
			l.Cluster.ControllerManagerProxy.Thaw()
			return nil
		},
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
		func(ctx context.Context, l *Lab) error { return allowLeases(ctx, l.Steps, "list", "watch") },
		func(ctx context.Context, l *Lab) error { return allowLeases(ctx, l.Steps, "get", "list", "watch") },
	)
}

// allowLeases sets the verbs that the node controller may use on Leases.
func allowLeases(ctx context.Context, s *Steps, verbs ...string) error {
	const name = "system:controller:node-controller"
	roles := s.Client.RbacV1().ClusterRoles()
	role, err := roles.Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	for i := range role.Rules {
		if slices.Contains(role.Rules[i].Resources, "leases") {
			role.Rules[i].Verbs = verbs
		}
	}
	_, err = roles.Update(ctx, role, metav1.UpdateOptions{})
	return err
}

// dieUnseen pauses a node's kubelet while the breaker is open. The node is expected to become Unknown only after the
// breaker is closed.
func dieUnseen(ctx context.Context, l *Lab, open, shut func(context.Context, *Lab) error) error {
	kubelet := l.Cluster.Kubelets[breakerVictim]
	unknown := func(n float64) error {
		return l.waitForCount(ctx, n, "kubeflap_node_ready_transitions_total", "status", "unknown")
	}
	ready := func() error { return l.webHas(ctx, breakerNodes, "ready") }
	return allOf(
		func() error { return l.WaitForHeartbeats(ctx) },
		func() error { return open(ctx, l) },
		// If the watch is silent, the cached Lease of the node is out of date after this renewal. It therefore always
		// differs from the Lease in the API server.
		func() error { return l.waitForLeaseRenewal(ctx, breakerVictim) },
		kubelet.Pause,
		func() error { return poll.Sleep(ctx, grace+breakerHolds) },
		func() error {
			if l.Paged == nil {
				return nil
			}
			return l.Paged(ctx, breakerAlert)
		},
		func() error { return unknown(0) },
		ready,
		func() error { return shut(ctx, l) },
		func() error { return unknown(1) },
		kubelet.Resume,
		func() error { return l.waitForNodeStatus(ctx, "true", breakerVictim) },
		ready,
	)
}

// circuitBreakerOff disables the breaker. The node controller then sets nodes to Unknown although their Leases were
// renewed on time, as before v1.37.
func circuitBreakerOff() Scenario {
	return staleLeaseScenario(false, Scenario{
		Name:    "circuit-breaker-off",
		Extra:   true,
		Summary: "the circuit breaker is off, and the controller manager's watch of Leases is silent: nodes turn Unknown although all Leases are renewed on time",
		Options: cluster.Options{
			Release: cluster.Newest, ControllerManagerProxied: true,
			ControllerManagerFlags: []string{breakerOff},
		},
		Run: func(ctx context.Context, l *Lab) error {
			return runControllerManagerFault(ctx, l, false, staleLeases(ctx, l))
		},
	})
}
