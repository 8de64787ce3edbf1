package scenario

import (
	"time"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// grace is the grace period in most scenarios. It is short, so that a silent node becomes Unknown soon. A heartbeat is
// late after half the grace period, and kubelets renew their Leases every 10.0 to 10.4 s. With a grace period of less
// than 20 s, kubeflap would report an incident about the grace period itself.
const (
	grace       = 24 * time.Second
	graceFlag   = "--node-monitor-grace-period=24s"
	everySecond = "--node-monitor-period=1s"
)

// graced returns the options of a cluster with this grace period.
func graced(nodes int, flags ...string) cluster.Options {
	return cluster.Options{Nodes: nodes, ControllerManagerPod: true, ControllerManagerFlags: append([]string{graceFlag, everySecond}, flags...)}
}

// heartbeatLoss uses a short grace period on the newest release. On the oldest release, it tests the default grace
// period, because newer releases have another default.
func heartbeatLoss(release cluster.Release) Scenario {
	lost, flags := grace, []string{graceFlag, everySecond}
	alerts := []Alert{{Name: "KubeflapNodeLost", Object: "Node node-2", Remedy: "--node-monitor-grace-period to "}, {
		Name: "KubeflapGracePeriodTooTight", Says: []string{"The grace period of 24s"}, Remedy: "--node-monitor-grace-period to ",
	}}
	if release == cluster.Oldest {
		// The default grace period is only assumed, so no alert is about it.
		lost, flags, alerts = release.DefaultGrace(), flags[1:], alerts[:1]
	}
	return Scenario{
		ByRelease: true,
		Name:      "heartbeat-loss",
		Summary:   "one kubelet stops for longer than the grace period: its node turns Unknown, and its pods leave the Service",
		Reports:   []Report{{"node", "node", "node_heartbeat_lost", "", "", "--node-monitor-grace-period to "}},
		Repeats:   true,
		// The Service loses only the addresses on the paused kubelet's node.
		LossesBy: "node_heartbeat_lost",
		Alerts:   alerts,
		Options:  cluster.Options{Nodes: 3, ControllerManagerPod: true, ControllerManagerFlags: flags},
		Prepare:  func(l *Lab) { spreadReady(l, 6) },
		Run: func(l *Lab) {
			const victim = "node-2"
			kubelet := l.Cluster.Kubelets[victim]
			l.WaitForHeartbeats()
			kubelet.Pause()
			l.waitForNodeStatus("unknown", victim)
			l.webHas(2, "not_ready")
			l.checkLate(lost-time.Second, victim)
			// A kubeflap instance whose watch of Nodes is delayed can see the last heartbeat later. The silence must
			// exceed the grace period for that instance, too.
			l.Sleep(3 * time.Second)
			kubelet.Resume()
			l.waitForNodeStatus("true", victim)
			l.webHas(6, "ready")
			l.waitForCountAtLeast(2, flips, "service", "web", "to", "ready")
		},
	}
}
