package report

import (
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// settingRecommendations compares the controller manager's other flags with the profiles.
func (c *cluster) settingRecommendations() (all []Recommendation) {
	severity := note
	if slices.ContainsFunc(c.nodes, func(n node) bool { return n.MissedHeartbeats > 0 }) {
		severity = warning // these settings determine the impact of a lost node
	}
	add := func(flag string, value time.Duration, profiles, advice, why string) {
		all = append(all, Recommendation{
			Kind: "controller_manager_flag", Severity: severity, Set: "--" + flag + "=" + phrase.Duration(value), Observed: profiles, Advice: advice, Why: why,
		})
	}
	if period := c.flags.MonitorPeriod; period > 5*time.Second || c.grace.Period > 0 && 4*period > c.grace.Period {
		add("node-monitor-period", period, "5s in the default, medium and slow profiles, 2s in fast", "remove the flag: 5s is the default",
			fmt.Sprintf("the node controller checks the nodes once per period, so it notices a heartbeat and the end of the grace period up to %s late.", phrase.Duration(2*period)))
	}
	if timeout := c.flags.EvictionTimeout; timeout > 0 && timeout <= time.Minute {
		add("pod-eviction-timeout", timeout, "5m by default, and 30s (fast) or 1m (medium, slow) in the profiles", "set 5m, unless the pods of a lost node must be replaced immediately",
			fmt.Sprintf("up to v1.12, if a node sends no heartbeat for one grace period and returns after %s, its pods are already evicted. Later versions ignore the flag: the tolerations of the pods apply.", phrase.Duration(timeout)))
	}
	return all
}
