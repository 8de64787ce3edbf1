package scenario

import (
	"context"
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/poll"
	"github.com/kubeflap/kubeflap/lab/proxy"
)

// breaks is from when on a node controller reads a Lease from the API server before it marks the node: v1.37. Until it agrees with
// its watch of Leases nobody is marked (NodeControllerLeaseCircuitBreaker).
func breaks(release cluster.Release) bool { return release != cluster.Oldest }

// behindTheTimes is a scenario in which the controller manager is behind, while every Lease is in time. The node controller of old releases marks
// nodes for it; the circuit breaker of the newer ones keeps it from that, and then nothing is wrong.
func behindTheTimes(release cluster.Release, s Scenario) Scenario {
	const nodes = 4
	s.ByRelease = true
	s.Options.Nodes, s.Options.ControllerManagerPod = nodes, true
	s.Options.ControllerManagerFlags = append([]string{graceFlag(), "--node-monitor-period=1s"}, patientLeader()...)
	if breaks(release) {
		s.NoIncident = true
	} else {
		s.Incident = Incident{"control_plane", "node_heartbeat_lost", "controller_manager", "neither the nodes nor etcd are at fault"}
		s.Alone, s.Advice = true, "controller_manager_slow"
		s.Pages = []Page{{
			Alert:  "KubeflapControllerManagerSlow",
			Says:   []string{"the kube-controller-manager is behind", "Nodes, kubelets and etcd are not at fault"},
			Remedy: "Check the kube-controller-manager",
		}}
	}
	s.Prepare = func(ctx context.Context, l *Lab) error {
		return allOf(
			func() error { return l.spread(ctx, nodes, nil) },
			func() error { return l.inRotation(ctx, "shop", "web", nodes) },
			func() error { return l.untainted(ctx) },
		)
	}
	return s
}

// patientLeader are the flags of a leader that does not end itself while it cannot renew its Lease, which it would by default after 10 s.
func patientLeader() []string {
	return []string{"--leader-elect", "--leader-elect-lease-duration=5m", "--leader-elect-renew-deadline=4m"}
}

// controllerManagerStopped does not tell which of its parts is first when it goes on: its view of the Leases, or the look at it.
func controllerManagerStopped(release cluster.Release) Scenario {
	return behindTheTimes(release, Scenario{
		Name: "controller-manager-stopped",
		// On the oldest release it is a race between its monitor and its watch, which goes on at the same moment.
		Extra:   release != cluster.Newest,
		Summary: "the controller manager stands still longer than the grace period, and goes on; all Leases are in time",
		Run: func(ctx context.Context, l *Lab) error {
			return marked(ctx, l, release, func() error {
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
	return behindTheTimes(release, Scenario{
		Name:    "controller-manager-cut-off",
		Extra:   true,
		Summary: "the controller manager's connection to the API server is cut longer than the grace period; all Leases are in time",
		Options: cluster.Options{ControllerManagerProxied: true},
		Run: func(ctx context.Context, l *Lab) error {
			return marked(ctx, l, release, func() error {
				l.Cluster.ControllerManagerLink.Cut()
				defer l.Cluster.ControllerManagerLink.Mend()
				return poll.Sleep(ctx, stall)
			})
		},
	})
}

func controllerManagerStale(release cluster.Release) Scenario {
	return behindTheTimes(release, Scenario{
		Name:    "controller-manager-stale",
		Extra:   release == cluster.Newest,
		Summary: "the controller manager's watch of Leases is silent longer than the grace period; all Leases are in time",
		Options: cluster.Options{ControllerManagerProxied: true},
		Run: func(ctx context.Context, l *Lab) error {
			return marked(ctx, l, release, func() error {
				l.Cluster.ControllerManagerProxy.Freeze(proxy.AllWatches, "leases")
				defer l.Cluster.ControllerManagerProxy.Thaw()
				return poll.Sleep(ctx, stall)
			})
		},
	})
}

// marked lets a fault of the controller manager happen, and checks that it then marks nodes whose Leases are in time, or that it marks nobody.
func marked(ctx context.Context, l *Lab, release cluster.Release, fault func() error) error {
	if err := l.EveryNodeBeats(ctx); err != nil {
		return err
	}
	if breaks(release) {
		return allOf(fault, func() error { return nobodyMarked(ctx, l) })
	}
	const attempts = 3
	var err error
	for range attempts {
		err = allOf(fault, func() error { return poll.Until(ctx, grace, "the node controller to lose a node", l.lostANode) })
		if err == nil || ctx.Err() != nil {
			break
		}
		l.Log.Info("the node controller noticed in time, once more", "err", err)
	}
	return allOf(
		func() error { return err },
		func() error {
			return l.shows(ctx, float64(len(l.Cluster.Kubelets)), "kubeflap_service_addresses", "service", "web", "state", "ready")
		},
		func() error { return allInTime(l) },
	)
}

// nobodyMarked checks that the node controller works, and that no node was Unknown by the next heartbeat of each.
func nobodyMarked(ctx context.Context, l *Lab) error {
	if err := poll.Until(ctx, patience, "the controller manager", l.Cluster.HealthyControllerManager); err != nil {
		return err
	}
	for node := range l.Cluster.Kubelets {
		if err := l.beatsAgain(ctx, node); err != nil {
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

// allInTime checks that no node is to blame: each has renewed its Lease.
func allInTime(l *Lab) error {
	counts, err := l.Truth.Counts()
	if err != nil {
		return err
	}
	for node := range l.Cluster.Kubelets {
		if longest := counts.Sum("kubeflap_node_heartbeat_interval_max_seconds", "node", node); longest >= grace.Seconds() {
			return fmt.Errorf("%s was late by itself: %.1f s", node, longest)
		}
	}
	return nil
}

const (
	breakerNodes, breakerVictim = 3, "node-2"
	// breakerHolds is how long the node stays Ready at least after the grace period was over: the alert waits for 2 minutes.
	breakerHolds = 160 * time.Second
)

// circuitBreakerOpen lets a node die while the node controller cannot see any Lease: it stays Ready, and its pods in Services. Who leads is known, so
// that no change of the leader explains it.
func circuitBreakerOpen() Scenario {
	return Scenario{
		Name:       "circuit-breaker-open",
		Summary:    "the controller manager's watch of Leases is silent: a failed node stays Ready, and its pods stay in their Service",
		Incident:   Incident{"control_plane", "node_heartbeat_lost", "controller_manager", "errors of its watch of Leases"},
		Alone:      true,
		Because:    "and still Ready, while the API server answered",
		Advice:     "controller_manager_slow",
		LastLosses: map[string]string{"web": "node_heartbeat_lost"},
		Pages: []Page{{
			Alert:  "KubeflapSilentNodesReady",
			Says:   []string{breakerVictim, "their addresses", "it holds back"},
			Remedy: "errors of its watch of Leases",
		}, {
			// As soon as the grace period is over, and nobody can know yet that the node stays Ready.
			Alert: "KubeflapNodeHeartbeatLost", Object: "Node " + breakerVictim,
		}},
		Options: cluster.Options{
			Release: cluster.Newest,
			Nodes:   breakerNodes, ControllerManagerPod: true, ControllerManagerProxied: true,
			ControllerManagerFlags: []string{graceFlag(), "--node-monitor-period=1s", "--leader-elect"},
		},
		Prepare: func(ctx context.Context, l *Lab) error {
			return allOf(
				func() error { return l.spread(ctx, breakerNodes, nil) },
				func() error { return l.inRotation(ctx, "shop", "web", breakerNodes) },
			)
		},
		Run: openBreaker,
	}
}

func openBreaker(ctx context.Context, l *Lab) error {
	manager, kubelet := l.Cluster.ControllerManagerProxy, l.Cluster.Kubelets[breakerVictim]
	unknown := func(n float64) error {
		return l.shows(ctx, n, "kubeflap_node_ready_transitions_total", "status", "unknown")
	}
	ready := func() error {
		return l.shows(ctx, breakerNodes, "kubeflap_service_addresses", "service", "web", "state", "ready")
	}
	return allOf(
		func() error { return l.EveryNodeBeats(ctx) },
		func() error { manager.Freeze(proxy.AllWatches, "leases"); return nil },
		// From now on its cache is old, so that the node's Lease is never the one that it has.
		func() error { return l.beatsAgain(ctx, breakerVictim) },
		kubelet.Pause,
		func() error { return poll.Sleep(ctx, grace+breakerHolds) },
		func() error { return unknown(0) },
		ready,
		func() error { manager.Thaw(); return nil },
		func() error { return unknown(1) },
		kubelet.Resume,
		func() error {
			return l.counted(ctx, 1, "kubeflap_node_ready_transitions_total", "node", breakerVictim, "status", "true")
		},
		ready,
	)
}
