package report

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// fewest is the number of intervals per node that are needed to judge the grace period.
const fewest = 3

// graceRecommendations returns the recommendations about the grace period.
func (c *cluster) graceRecommendations() (all []Recommendation) {
	intervals, nodes, longest := c.intervals.GetSampleCount(), len(c.nodes), c.toCover
	if intervals < uint64(fewest*nodes) || nodes == 0 {
		all = append(all, Recommendation{
			Kind: "few_heartbeats", Severity: note,
			Set:      "the time of observation",
			Observed: fmt.Sprintf("%s of %s", phrase.Count(int(intervals), "heartbeat interval", "heartbeat intervals"), phrase.Count(nodes, "node", "nodes")),
			Advice:   "observe for two minutes or longer, or query a running kubeflap instance (--url)",
			Why:      fmt.Sprintf("heartbeats are %s apart. Fewer than %d intervals per node do not show how late heartbeats can be.", brief(c.grace.Interval), fewest),
		})
	}
	x := Recommendation{Recommended: c.recommended.Seconds(), Set: c.set(), Observed: c.observed(), Advice: c.adviceToSet()}
	switch g := c.grace; {
	case g.Period == 0:
	case g.Unsafe():
		x.Kind, x.Severity = "grace_period_unsafe", bad
		x.Why = fmt.Sprintf("heartbeats are due every %s. With a grace period below %s, a single late heartbeat makes the node Unknown, and its pods leave their Services.",
			brief(g.Interval), brief(g.Shortest()))
	case c.recommended > g.Period, longest > g.Period/2:
		x.Kind, x.Severity = "grace_period_tight", warning
		x.Why = "the longest interval is more than half of the grace period, so one more lost heartbeat makes the node Unknown, and its pods leave their Services."
		if longest > g.Period {
			x.Severity = bad
			x.Why = "the longest interval exceeds the grace period. After such an interval, the node turns Unknown, and its pods leave their Services although they are still running."
		}
		if c.recommended <= g.Period {
			x.Recommended = 0
		}
	case g.Period > advice.LongestGrace:
		x.Kind, x.Severity, x.Advice = "grace_period_long", note, fmt.Sprintf("--node-monitor-grace-period=%s is long enough", brief(c.recommended))
		if c.recommended == 0 {
			x.Advice = "you cannot set this flag on a managed control plane, so expect traffic to dead nodes for that long"
		}
		x.Why = fmt.Sprintf("a dead node receives traffic until the grace period ends, which can take %s.", brief(g.Period+g.Interval))
	}
	if x.Kind != "" {
		all = append(all, x)
	}
	return all
}

// sourceRecommendations returns a note unless the grace period was read from a flag.
func (c *cluster) sourceRecommendations() []Recommendation {
	x := Recommendation{
		Kind: "grace_period_source", Severity: note, Set: c.set(),
		Observed: "no kube-controller-manager pod with visible flags",
		Advice:   "start kubeflap with --node-monitor-grace-period, if you know the value",
		Why:      "this is the default of the server's version. If the flag is set to another value, all advice on the grace period is wrong.",
	}
	switch {
	case c.graceSource == controlplane.SourceFlag, c.graceSource == controlplane.SourceControllerManager:
		return nil
	case c.grace.Period == 0:
		x.Why = "without the grace period, kubeflap cannot know whether a heartbeat is late."
	case c.graceSource == controlplane.SourceObserved:
		x.Why = "this value was measured, from a node's last heartbeat until the node turned Unknown. The real value may be up to 10 s shorter."
	}
	return []Recommendation{x}
}

func (c *cluster) adviceToSet() string {
	switch {
	case c.grace.Managed && c.grace.Unsafe():
		return "you cannot set this flag on a managed control plane: open a case with your provider"
	case c.grace.Managed:
		return "you cannot set this flag on a managed control plane: give slow kubelets a larger machine or fewer pods, and give their pods a longer toleration of " +
			"node.kubernetes.io/unreachable"
	case c.recommended <= c.grace.Period:
		return fmt.Sprintf("leave the grace period at %s and fix the slow component: a longer grace period would detect dead nodes too late", brief(c.grace.Period))
	}
	s := fmt.Sprintf("--node-monitor-grace-period=%s on each kube-controller-manager", brief(c.recommended))
	if 2*c.toCover > c.recommended {
		s += "; a value of twice the longest interval would detect dead nodes too late, so also fix the slow component"
	}
	return s
}

// sources describes the sources of the grace period.
var sources = map[controlplane.Source]string{
	controlplane.SourceFlag:              "from kubeflap's own flag",
	controlplane.SourceControllerManager: "read from the kube-controller-manager's pod",
	controlplane.SourceObserved:          "measured",
	controlplane.SourceDefault:           "the default of the server's version",
}

func (c *cluster) set() string {
	if c.grace.Period == 0 {
		return "--node-monitor-grace-period unknown"
	}
	return fmt.Sprintf("--node-monitor-grace-period=%s (%s)", brief(c.grace.Period), sources[c.graceSource])
}

func (c *cluster) observed() string {
	longest := c.toCover
	if longest == 0 {
		return "no interval that a grace period should cover"
	}
	gap, is := "the longest gap ("+brief(longest)+c.whenLongest+") ", "was within"
	if longest > c.grace.Period {
		is = "exceeded"
	}
	return gap + is + " the grace period (" + brief(c.grace.Period) + ")"
}
