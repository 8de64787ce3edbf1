package report

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// sources describes the sources of the grace period, and what is doubtful about them. Flags leave no doubt.
var sources = map[controlplane.Source]struct{ text, doubt string }{
	"":                                   {"", "without the grace period, kubeflap cannot know whether a heartbeat is late."},
	controlplane.SourceFlag:              {text: "from kubeflap's own flag"},
	controlplane.SourceControllerManager: {text: "read from the kube-controller-manager's pod"},
	controlplane.SourceObserved: {
		"measured",
		"the grace period was measured, from a node's last heartbeat until the node turned Unknown. The real value may be up to 10 s shorter.",
	},
	controlplane.SourceDefault: {
		"the default of the server's version",
		"the grace period is only assumed to be the default. If the flag is set to another value, all advice on the grace period is wrong.",
	},
}

// graceFinding returns the only recommendation about the grace period, if there is one. It depends on the silences of
// slow nodes, according to their verdicts. The recommendations about nodes do not mention other grace periods.
func (c *cluster) graceFinding() []Recommendation {
	g, to, source := c.grace, c.grace.Recommended(), sources[c.source]
	x := Recommendation{Recommended: phrase.Seconds(to), Set: "--node-monitor-grace-period unknown", Observed: c.slowest()}
	if g.Period > 0 {
		x.Set = fmt.Sprintf("--node-monitor-grace-period=%s (%s)", phrase.Duration(g.Period), source.text)
	}
	provided := "" // what to do if a provider sets the grace period
	switch {
	case g.Unsafe():
		x.Kind, x.Severity, provided = "grace_period_unsafe", bad, "open a case with your provider"
		x.Why = fmt.Sprintf("heartbeats are due every %s. With a grace period below %s, a single late heartbeat makes the node Unknown, and its pods leave their Services.",
			phrase.Duration(c.interval()), phrase.Duration(g.Shortest()))
	case to > g.Period, g.Period > 0 && 2*g.Longest > g.Period:
		x.Kind, x.Severity = "grace_period_tight", warning
		provided = "give slow kubelets a larger machine or fewer pods, and give their pods a longer toleration of node.kubernetes.io/unreachable"
		x.Why = "if one more heartbeat is late or lost, the node turns Unknown, and its pods leave their Services."
		if g.Longest > g.Period {
			x.Severity = bad
			x.Why = "a silence exceeded the grace period. After that, the node turns Unknown, and its pods leave their Services although they are still running."
		}
	case to > 0, g.Managed && g.Period > advice.LongestGrace:
		x.Kind, x.Severity, provided = "grace_period_long", note, "expect traffic to dead nodes for that long"
		x.Why = fmt.Sprintf("a dead node receives traffic until the grace period ends, which can take %s.", phrase.Duration(g.Period+c.interval()))
	case source.doubt != "":
		x.Kind, x.Severity, x.Why = "grace_period_source", note, source.doubt
		x.Observed = "no kube-controller-manager pod with visible flags"
		x.Advice = "start kubeflap with --node-monitor-grace-period, if you know the value"
		return []Recommendation{x}
	default:
		return nil
	}
	switch {
	case g.Managed:
		x.Advice = "you cannot set this flag on a managed control plane: " + provided
	case to == 0:
		x.Advice = fmt.Sprintf("leave the grace period at %s and fix the slow nodes: a longer grace period would detect dead nodes too late", phrase.Duration(g.Period))
	default:
		x.Advice = fmt.Sprintf("--node-monitor-grace-period=%s on each kube-controller-manager", phrase.Duration(to))
		if g.Longest > 0 && to > g.Period {
			x.Advice += ", until the slow nodes are fixed"
		}
	}
	if source.doubt != "" {
		x.Advice += "; first check the current value, and if you know it, start kubeflap with --node-monitor-grace-period"
		x.Why += " " + phrase.Sentence(source.doubt)
	}
	return []Recommendation{x}
}

// slowest compares the grace period with the longest silence of a slow node.
func (c *cluster) slowest() string {
	if c.grace.Longest == 0 {
		return fmt.Sprintf("no slow nodes; %s into the grace period", phrase.Count(renewals(c.grace), "renewal fits", "renewals fit"))
	}
	is := "was within"
	if c.grace.Longest > c.grace.Period {
		is = "exceeded"
	}
	return fmt.Sprintf("the longest gap (%s) %s the grace period (%s)", phrase.Duration(c.grace.Longest), is, phrase.Duration(c.grace.Period))
}

// renewals returns the number of Lease renewals that fit into the grace period. A kubelet can miss all but one of them.
func renewals(g advice.GracePeriod) int { return int(g.Period / g.LongestOnTime()) }
