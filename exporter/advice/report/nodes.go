package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/silence"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// often is the number of late heartbeats from which a node counts as slow, even if all of them are old. Each reboot
	// causes one late heartbeat, so one or two are not enough.
	often = 3
	// A late heartbeat within the grace period is recent for this time.
	lately = 10 * time.Minute
	// some is the maximum number of names in a text. The JSON contains all nodes.
	some = 5
)

// nodeAdvice is the advice on nodes with silences of one kind. The verdicts on the silences name the component at fault,
// and the report repeats them.
type nodeAdvice struct {
	kind string
	// severity is empty if it is bad for nodes whose silence exceeded the grace period, and otherwise a warning.
	severity string
	// The verdict and the reason select the silences (see reasonOf), and determine the advice.
	verdict verdict.Verdict
	reason  verdict.Reason
	why     string
}

var adviceOnNodes = []nodeAdvice{
	{
		"control_plane_late", "", verdict.SharedPath, verdict.NoReason,
		"nodes were silent together, or one after another, and coincidence is very unlikely. Their incident shows which label they share.",
	},
	{
		"controller_manager_slow", bad, verdict.ControllerManager, verdict.NoReason,
		"the node controller set these nodes to Unknown although their heartbeats were on time.",
	},
	{
		"controller_manager_slow", bad, verdict.ControllerManager, verdict.LeftReady,
		"the node controller left these nodes Ready although they were silent.",
	},
	{
		"nodes_rebooted", warning, verdict.NodeRebooted, verdict.NoReason,
		"these nodes reported a new bootID, so their machines restarted. No taint, deletion, condition or cordon had announced the restarts.",
	},
	{
		"kubelets_upgraded", warning, verdict.Node, verdict.Upgraded,
		"these nodes reported a different kubelet version after the silence. No taint, deletion, condition or cordon had announced the upgrades.",
	},
	{
		"clocks_set_back", warning, verdict.Node, verdict.ClockSetBack,
		"heartbeats of these nodes arrived on time, but their timestamps were older than the previous ones, so the node controller ignored them.",
	},
	{
		"undecided", warning, verdict.Undecided, verdict.NoReason,
		"a wrong verdict would be worse than none. The incident page shows the hypotheses, and a command that can decide between them.",
	},
	{
		"nodes_slow", "", verdict.Node, verdict.Slow,
		"the other nodes were on time, or late independently, so the fault is neither in etcd nor in the API server.",
	},
	{
		"nodes_silent", warning, verdict.Node, verdict.Down,
		"a node that is silent for more than " + phrase.Duration(advice.LongestGrace) + " is down, not slow. If it does not return, delete the Node.",
	},
}

// nodeRecommendations returns the recommendations about nodes.
func (c *cluster) nodeRecommendations() (all []Recommendation) {
	for _, a := range adviceOnNodes {
		if nodes := c.nodesWith(a.verdict, a.reason); len(nodes) > 0 {
			all = append(all, c.recommend(a, nodes))
		}
	}
	return all
}

// reasonOf returns the reason that distinguishes the advice on silences with the same verdict.
func reasonOf(s silence.Sum) verdict.Reason {
	switch {
	case s.Verdict == verdict.Node && s.Reason == verdict.Late:
		return verdict.Slow
	case s.Verdict == verdict.Node, s.Reason == verdict.LeftReady:
		return s.Reason
	}
	return verdict.NoReason
}

// nodesWith returns the nodes with silences that have a verdict and a reason. The slowest node comes first.
func (c *cluster) nodesWith(v verdict.Verdict, reason verdict.Reason) (all []LateNode) {
	found := map[string]LateNode{}
	for _, s := range c.silences {
		if s.Verdict == v && reasonOf(s) == reason && s.Count > 0 {
			x := found[s.Node]
			x.Times, x.Longest, x.missed = x.Times+s.Count, max(x.Longest, inMilliseconds(s.Longest)), x.missed || s.Reason != verdict.Late
			x.Last = incident.Later(x.Last, s.Last.UTC().Truncate(time.Second))
			found[s.Node] = x
		}
	}
	for _, n := range c.nodes {
		x := found[n.Name]
		x.Node, x.Late, x.Missed = n.Name, n.LateHeartbeats, n.MissedHeartbeats
		if x.missed || x.Times >= often || x.Times > 0 && (v != verdict.Node || c.now.Sub(x.Last) <= lately) {
			all = append(all, x)
		}
	}
	slices.SortFunc(all, func(x, y LateNode) int {
		return cmp.Or(cmp.Compare(y.Longest, x.Longest), cmp.Compare(y.Times, x.Times), strings.Compare(x.Node, y.Node))
	})
	return all
}

// recommend returns the recommendation about the nodes of one kind. There must be at least one such node.
func (c *cluster) recommend(a nodeAdvice, nodes []LateNode) Recommendation {
	severity := a.severity
	if severity == "" {
		if severity = warning; slices.ContainsFunc(nodes, func(n LateNode) bool { return n.missed }) {
			severity = bad
		}
	}
	var names, texts []string
	for i := range nodes {
		names, texts = append(names, nodes[i].Node), append(texts, nodes[i].String())
	}
	if more := len(texts) - some; more > 0 {
		texts = append(texts[:some], fmt.Sprintf("and %d more", more))
	}
	lost := advice.LostNodes{
		Verdict: a.verdict, Reason: a.reason, Names: phrase.Some(names), Count: len(nodes), KnownNodes: len(c.nodes), Grace: c.grace, Command: "the command that /flaps shows with the incident",
	}
	x := Recommendation{
		Kind: a.kind, Severity: severity, Nodes: nodes, Set: "a heartbeat every " + phrase.Duration(c.interval()),
		Observed: phrase.CountOf(len(nodes), len(c.nodes), "nodes") + ": " + strings.Join(texts, ", "), Advice: lost.Fix(), Why: a.why,
	}
	if a.kind == "nodes_slow" && c.grace.Recommended() > c.grace.Period {
		x.Why += " A longer grace period helps until these nodes are fixed."
	}
	return x
}

// LateNode is a node with silences.
type LateNode struct {
	Node string `json:"node"`
	// Longest is the length of the longest silence that led to the recommendation, or 0 if unknown. Times counts these
	// silences. Last is the end of the newest one, or the time of the newest event if it is ongoing.
	Longest phrase.Seconds `json:"longest_interval_seconds"`
	Times   uint64         `json:"times"`
	Last    time.Time      `json:"last"`
	// Late and Missed count all heartbeats of the node that were late, whatever the reason.
	Late   uint64 `json:"heartbeats_late"`
	Missed uint64 `json:"heartbeats_missed"`

	// missed is set if one of the silences exceeded the grace period.
	missed bool
}

// String describes the silences that led to a recommendation.
func (n *LateNode) String() string {
	text, up, last := n.Node+" (", "", ""
	if n.Times > 1 {
		text, up, last = text+phrase.Often(int(n.Times))+", ", "up to ", "the last "
	}
	if n.Longest > 0 {
		text += up + n.Longest.String() + ", "
	}
	return text + last + "until " + n.Last.Format("2006-01-02 15:04 UTC") + ")"
}
