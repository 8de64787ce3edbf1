package report

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// fewest is the number of intervals per node that are needed to judge the grace period.
const fewest = 3

// fewHeartbeats returns a note if there are not enough intervals to judge the grace period.
func (c *cluster) fewHeartbeats() []Recommendation {
	intervals, nodes := c.intervals, len(c.nodes)
	if intervals >= uint64(fewest*nodes) && nodes > 0 {
		return nil
	}
	return []Recommendation{{
		Kind: "few_heartbeats", Severity: note,
		Set:      "the time of observation",
		Observed: fmt.Sprintf("%s of %s", phrase.Count(int(intervals), "heartbeat interval", "heartbeat intervals"), phrase.Count(nodes, "node", "nodes")),
		Advice:   "observe for two minutes or longer, or query a running kubeflap instance (--url)",
		Why:      fmt.Sprintf("heartbeats are %s apart. Fewer than %d intervals per node do not show how late heartbeats can be.", phrase.Duration(c.grace.Interval), fewest),
	}}
}

// graceFinding returns the only recommendation about the grace period, if there is one. It depends on the silences of
// slow nodes, according to their verdicts. The recommendations about nodes do not mention other grace periods.
func (c *cluster) graceFinding() []Recommendation {
	g, to, doubt := c.grace, c.grace.Recommended(), doubts[c.graceSource]
	x := Recommendation{Recommended: to.Seconds(), Set: c.set(), Observed: c.slowest(), Advice: c.adviceToSet()}
	switch {
	case g.Unsafe():
		x.Kind, x.Severity = "grace_period_unsafe", bad
		x.Why = fmt.Sprintf("heartbeats are due every %s. With a grace period below %s, a single late heartbeat makes the node Unknown, and its pods leave their Services.",
			phrase.Duration(g.Interval), phrase.Duration(g.Shortest()))
	case g.Period > 0 && g.Longest > g.Period:
		x.Kind, x.Severity = "grace_period_tight", bad
		x.Why = "a silence exceeded the grace period. After that, the node turns Unknown, and its pods leave their Services although they are still running."
	case to > g.Period, g.Period > 0 && 2*g.Longest > g.Period:
		x.Kind, x.Severity = "grace_period_tight", warning
		x.Why = "if one more heartbeat is late or lost, the node turns Unknown, and its pods leave their Services."
	case to > 0, g.Managed && g.Period > advice.LongestGrace:
		x.Kind, x.Severity = "grace_period_long", note
		x.Why = fmt.Sprintf("a dead node receives traffic until the grace period ends, which can take %s.", phrase.Duration(g.Period+g.Interval))
	case doubt != "":
		return []Recommendation{{
			Kind: "grace_period_source", Severity: note, Set: x.Set,
			Observed: "no kube-controller-manager pod with visible flags",
			Advice:   "start kubeflap with --node-monitor-grace-period, if you know the value",
			Why:      doubt,
		}}
	default:
		return nil
	}
	if doubt != "" {
		x.Advice += "; first check the current value, and if you know it, start kubeflap with --node-monitor-grace-period"
		x.Why += " " + phrase.Sentence(doubt)
	}
	return []Recommendation{x}
}

func (c *cluster) adviceToSet() string {
	g, to := c.grace, c.grace.Recommended()
	switch {
	case g.Managed && g.Unsafe():
		return "you cannot set this flag on a managed control plane: open a case with your provider"
	case g.Managed && 2*g.Longest > g.Period:
		return "you cannot set this flag on a managed control plane: give slow kubelets a larger machine or fewer pods, and give their pods a longer toleration of " +
			"node.kubernetes.io/unreachable"
	case g.Managed:
		return "you cannot set this flag on a managed control plane, so expect traffic to dead nodes for that long"
	case to == 0:
		return fmt.Sprintf("leave the grace period at %s and fix the slow nodes: a longer grace period would detect dead nodes too late", phrase.Duration(g.Period))
	}
	s := fmt.Sprintf("--node-monitor-grace-period=%s on each kube-controller-manager", phrase.Duration(to))
	if g.Longest > 0 && to > g.Period {
		s += ", until the slow nodes are fixed"
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

// doubts says what is doubtful about a source. Flags leave no doubt.
var doubts = map[controlplane.Source]string{
	"":                          "without the grace period, kubeflap cannot know whether a heartbeat is late.",
	controlplane.SourceObserved: "the grace period was measured, from a node's last heartbeat until the node turned Unknown. The real value may be up to 10 s shorter.",
	controlplane.SourceDefault:  "the grace period is only assumed to be the default. If the flag is set to another value, all advice on the grace period is wrong.",
}

func (c *cluster) set() string {
	if c.grace.Period == 0 {
		return "--node-monitor-grace-period unknown"
	}
	return fmt.Sprintf("--node-monitor-grace-period=%s (%s)", phrase.Duration(c.grace.Period), sources[c.graceSource])
}

// slowest compares the grace period with the longest silence of a slow node.
func (c *cluster) slowest() string {
	switch {
	case c.grace.Longest > c.grace.Period:
		return "the longest gap (" + phrase.Duration(c.grace.Longest) + ") exceeded the grace period (" + phrase.Duration(c.grace.Period) + ")"
	case c.grace.Longest > 0:
		return "the longest gap (" + phrase.Duration(c.grace.Longest) + ") was within the grace period (" + phrase.Duration(c.grace.Period) + ")"
	}
	s := "no slow nodes"
	switch n := renewals(c.grace); {
	case n < 1:
		return s + "; the grace period is too short for a single renewal"
	case n == 1:
		return s + "; 1 renewal fits into the grace period, so none may be missed"
	default:
		return fmt.Sprintf("%s; %d renewals fit into the grace period, so %d may be missed", s, n, n-1)
	}
}
