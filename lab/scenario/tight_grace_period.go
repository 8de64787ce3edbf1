package scenario

import "github.com/kubeflap/kubeflap/lab/cluster"

// tightGracePeriod sets a grace period that is as short as the heartbeat interval.
func tightGracePeriod() Scenario {
	return Scenario{
		Name:    "tight-grace-period",
		Summary: "the grace period is as short as the heartbeat interval: healthy nodes turn Unknown",
		Reports: []Report{{"grace_period", "control_plane", "node_heartbeat_lost", "kube-controller-manager", "", "less than 20s is always unsafe"}},
		Repeats: true,
		Alerts: []Alert{{
			Name:   "KubeflapGracePeriodTooTight",
			Says:   []string{"The grace period of 10s"},
			Remedy: "less than 20s is always unsafe",
		}, {
			Name: "KubeflapControlPlaneFault", Remedy: "less than 20s is always unsafe",
		}},
		Options: cluster.Options{
			Nodes: 3, ControllerManagerPod: true,
			// A kubelet renews its Lease every 10.0 to 10.4 s. The node controller checks often enough to find Leases
			// that are just older than 10.0 s.
			ControllerManagerFlags: []string{"--node-monitor-grace-period=10s", "--node-monitor-period=200ms"},
		},
		Run: func(l *Lab) {
			l.waitForCountAtLeast(3, transitions, "status", "unknown")
			l.waitForCountAtLeast(3, transitions, "status", "true")
		},
	}
}
