package scenario

import (
	"context"
	"fmt"
	"slices"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
)

// hasCircuitBreaker reports whether the release has the circuit breaker (NodeControllerLeaseCircuitBreaker, v1.37 and
// later). With it, the node controller reads a node's Lease from the API server before it sets the node to Unknown.
// While this Lease differs from the cached Lease, the node controller sets no node to Unknown.
func hasCircuitBreaker(release cluster.Release) bool { return release != cluster.Oldest }

// staleLeaseScenario completes a scenario in which the controller manager sees outdated Leases, although all Leases are
// renewed on time. Without the circuit breaker, the node controller sets nodes to Unknown. With the breaker, it sets
// none to Unknown, and kubeflap must report no incident.
func staleLeaseScenario(breaker bool, s Scenario) Scenario {
	const nodes = 4
	s.Options.Nodes, s.Options.ControllerManagerPod = nodes, true
	s.Options.ControllerManagerFlags = slices.Concat(
		[]string{graceFlag(), "--node-monitor-period=1s"}, patientLeader(), s.Options.ControllerManagerFlags)
	if breaker {
		s.Reports = []Report{}
	} else {
		s.Reports = []Report{{"controller_manager", "control_plane", "node_heartbeat_lost", "kube-controller-manager", "", "neither the nodes nor etcd are at fault"}}
		s.Repeats, s.LossesBy = true, "node_heartbeat_lost"
		s.Advised, s.NotAdvised = onlyAdvised("controller manager slow")
		s.Pages = []Page{{
			Alert:  "KubeflapControllerManagerSlow",
			Says:   []string{"the kube-controller-manager is slow", "Nodes, kubelets and etcd are not at fault"},
			Remedy: "Check the kube-controller-manager",
		}}
	}
	s.Prepare = func(ctx context.Context, l *Lab) error {
		return allOf(
			func() error { return l.spreadReady(ctx, nodes) },
			func() error { return l.waitForNoTaints(ctx) },
		)
	}
	return s
}

// patientLeader returns flags for leader election. With these flags, a controller manager that cannot renew its own
// Lease exits after 4 minutes. By default, it would exit after 10 s.
func patientLeader() []string {
	return []string{"--leader-elect", "--leader-elect-lease-duration=5m", "--leader-elect-renew-deadline=4m"}
}

// controllerManagerStopped pauses the controller manager. When the controller manager continues, it is random whether
// the node monitor runs before or after the watch delivers the new Leases.
func controllerManagerStopped(release cluster.Release) Scenario {
	return staleLeaseScenario(hasCircuitBreaker(release), Scenario{
		Name:      "controller-manager-stopped",
		ByRelease: true,
		// On the oldest release, the result depends on whether the node monitor or the watch of Leases is faster.
		Extra:   release != cluster.Newest,
		Summary: "the controller manager is paused for longer than the grace period, and continues; all Leases are renewed on time",
		Run: func(ctx context.Context, l *Lab) error {
			return runControllerManagerFault(ctx, l, hasCircuitBreaker(release), func() error {
				return allOf(
					l.Cluster.ControllerManager.Pause,
					func() error { return poll.Sleep(ctx, stall) },
					l.Cluster.ControllerManager.Resume,
				)
			})
		},
	})
}

func controllerManagerCutOff(release cluster.Release) Scenario {
	return staleLeaseScenario(hasCircuitBreaker(release), Scenario{
		Name:      "controller-manager-cut-off",
		ByRelease: true,
		Extra:     true,
		Summary:   "the controller manager's connection to the API server is cut for longer than the grace period; all Leases are renewed on time",
		Options:   cluster.Options{ControllerManagerProxied: true},
		Run: func(ctx context.Context, l *Lab) error {
			return runControllerManagerFault(ctx, l, hasCircuitBreaker(release), func() error {
				l.Cluster.ControllerManagerLink.Cut()
				defer l.Cluster.ControllerManagerLink.Mend()
				return poll.Sleep(ctx, stall)
			})
		},
	})
}

func controllerManagerStale(release cluster.Release) Scenario {
	breaker := hasCircuitBreaker(release)
	return staleLeaseScenario(breaker, Scenario{
		Name:      "controller-manager-stale",
		ByRelease: true,
		Extra:     release == cluster.Newest,
		Summary:   "the controller manager's watch of Leases is silent for longer than the grace period; all Leases are renewed on time",
		Options:   cluster.Options{ControllerManagerProxied: true},
		Run: func(ctx context.Context, l *Lab) error {
			return runControllerManagerFault(ctx, l, breaker, staleLeases(ctx, l))
		},
	})
}

// staleLeases returns a fault in which the controller manager's watch of Leases is silent for longer than the grace
// period.
func staleLeases(ctx context.Context, l *Lab) func() error {
	return func() error {
		l.Cluster.ControllerManagerProxy.Freeze("leases")
		defer l.Cluster.ControllerManagerProxy.Thaw()
		return poll.Sleep(ctx, stall)
	}
}

// runControllerManagerFault runs a fault of the controller manager. Without the circuit breaker, a node is expected to
// become Unknown although its Lease is renewed. With the breaker, no node is expected to become Unknown.
func runControllerManagerFault(ctx context.Context, l *Lab, breaker bool, fault func() error) error {
	if err := l.WaitForHeartbeats(ctx); err != nil {
		return err
	}
	if breaker {
		return allOf(fault, func() error { return nobodyMarked(ctx, l) })
	}
	const attempts = 3
	var err error
	for range attempts {
		err = allOf(fault, func() error { return poll.Until(ctx, grace, "the node controller to mark a node", l.lostANode) })
		if err == nil || ctx.Err() != nil {
			break
		}
		l.Log.Info("the node controller saw the Leases on time; trying again", "err", err)
	}
	return allOf(
		func() error { return err },
		func() error { return l.webHas(ctx, len(l.Cluster.Kubelets), "ready") },
		func() error { return allInTime(l) },
	)
}

// nobodyMarked waits until the controller manager is healthy and all Leases have been renewed again. It then checks
// that no node has become Unknown.
func nobodyMarked(ctx context.Context, l *Lab) error {
	if err := poll.Until(ctx, patience, "the controller manager", l.Cluster.HealthyControllerManager); err != nil {
		return err
	}
	for node := range l.Cluster.Kubelets {
		if err := l.waitForLeaseRenewal(ctx, node); err != nil {
			return err
		}
	}
	counts, err := l.Truth.Counts()
	if err != nil {
		return err
	}
	if unknown := counts.Sum("kubeflap_node_ready_transitions_total", "status", "unknown"); unknown > 0 {
		return fmt.Errorf("the node controller marked %v nodes", unknown)
	}
	return allInTime(l)
}

// allInTime checks that each node has renewed its Lease on time.
func allInTime(l *Lab) error {
	counts, err := l.Truth.Counts()
	if err != nil {
		return err
	}
	for node := range l.Cluster.Kubelets {
		if longest := counts.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node); longest >= grace.Seconds() {
			return fmt.Errorf("the heartbeat of %s was really late: %.1f s", node, longest)
		}
	}
	return nil
}
