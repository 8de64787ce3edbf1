package scenario

import (
	"github.com/kubeflap/kubeflap/lab/cluster"
)

// hasCircuitBreaker reports whether the release has the circuit breaker (NodeControllerLeaseCircuitBreaker, v1.37 and
// later). With it, the node controller reads a node's Lease from the API server before it sets the node to Unknown.
// While this Lease differs from the cached Lease, the node controller sets no node to Unknown.
func hasCircuitBreaker(release cluster.Release) bool { return release != cluster.Oldest }

// staleLeaseScenario completes a scenario with a fault in which the controller manager sees outdated Leases, although all
// Leases are renewed on time. Without the circuit breaker, the node controller sets nodes to Unknown. With the breaker, it sets
// none to Unknown, and kubeflap must report no incident.
func staleLeaseScenario(breaker bool, fault func(*Lab), s Scenario) Scenario {
	const nodes = 4
	s.Options.Nodes, s.Options.ControllerManagerPod = nodes, true
	s.Options.ControllerManagerFlags = append([]string{graceFlag, everySecond}, patientLeader()...)
	if breaker {
		s.Reports = []Report{}
	} else {
		s.Reports = []Report{{"controller_manager", "control_plane", "node_heartbeat_lost", "kube-controller-manager", "", "neither the nodes nor etcd are at fault"}}
		s.Repeats, s.LossesBy = true, "node_heartbeat_lost"
		s.Alerts = []Alert{{
			Name: "KubeflapControlPlaneFault", Remedy: "Check the kube-controller-manager",
		}}
	}
	s.Prepare = func(l *Lab) { spreadReady(l, nodes) }
	s.Run = func(l *Lab) {
		l.WaitForHeartbeats()
		if breaker {
			fault(l)
			checkNobodyMarked(l)
		} else {
			l.retry(fault, "the node controller to mark a node", checkNodeLost)
			l.webHas(nodes, "ready")
		}
		for _, node := range l.nodes() {
			l.Expect(!l.late(node, grace), "the heartbeat of %s was really late", node)
		}
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
	stop := func(l *Lab) {
		l.Cluster.ControllerManager.Pause()
		l.Sleep(stall)
		l.Cluster.ControllerManager.Resume()
	}
	return staleLeaseScenario(hasCircuitBreaker(release), stop, Scenario{
		Name:      "controller-manager-stopped",
		ByRelease: true,
		// On the oldest release, the result depends on whether the node monitor or the watch of Leases is faster.
		Extra:   release != cluster.Newest,
		Summary: "the controller manager is paused for longer than the grace period, and continues; all Leases are renewed on time",
	})
}

func controllerManagerStale(release cluster.Release) Scenario {
	return staleLeaseScenario(hasCircuitBreaker(release), staleLeases, Scenario{
		Name:      "controller-manager-stale",
		ByRelease: true,
		Extra:     release == cluster.Newest,
		Summary:   "the controller manager's watch of Leases is silent for longer than the grace period; all Leases are renewed on time",
		Options:   cluster.Options{Proxied: true},
	})
}

// staleLeases is a fault in which the controller manager's watch of Leases is silent for longer than the grace period.
func staleLeases(l *Lab) {
	l.Cluster.Proxies[cluster.ControllerManagerName].Freeze("leases")
	defer l.Cluster.Proxies[cluster.ControllerManagerName].Thaw()
	l.Sleep(stall)
}

// checkNobodyMarked waits until the controller manager is healthy and all Leases have been renewed again. It then checks
// that no node has become Unknown.
func checkNobodyMarked(l *Lab) {
	waitForControllerManager(l)
	for _, node := range l.nodes() {
		l.waitForLeaseRenewal(node)
	}
	unknown := l.counts().Sum(transitions, "status", "unknown")
	l.Expect(unknown == 0, "the node controller marked %v nodes", unknown)
}
