package report

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// often is the number of late heartbeats from which a node counts as slow, even if all of them are old. Each reboot
	// causes one late heartbeat, so one or two are not enough.
	often = 3
	// together is the fraction of late nodes from which the control plane may be at fault.
	together = 0.8
	// lately is the period for which kubeflap's metrics show the longest heartbeat interval of a node.
	lately = 10 * time.Minute
	// If the newest silence of a node is older than worthAction, the node only gets a note.
	worthAction = 24 * time.Hour
	// some is the maximum number of names in a text. The JSON contains all nodes.
	some = 5
)

// lateNode is a node in a recommendation.
type lateNode struct {
	*node
	// The field times is the number of silences. The field last is the end of the newest silence, or the time of the
	// newest event if the node has a current verdict.
	times uint64
	last  time.Time
	// missed is set if a heartbeat interval of the node exceeded the grace period.
	missed bool
}

// sumSilences adds up the node's silences with the verdict v. If reasons are given, it ignores silences with other
// reasons.
func (n *node) sumSilences(v verdict.Verdict, reasons ...verdict.Reason) lateNode {
	sum := lateNode{node: n}
	for _, s := range n.silences {
		if s.Verdict != v || len(reasons) > 0 && !slices.Contains(reasons, s.Reason) {
			continue
		}
		sum.times += s.Count
		sum.missed = sum.missed || s.Count > 0 && s.Reason != verdict.Late
		if s.Last.After(sum.last) {
			sum.last = s.Last
		}
	}
	return sum
}

func (b *judged) isLately(t time.Time) bool { return b.now.Sub(t) <= lately }

// explained reports whether something other than the node delayed its heartbeats in the last ten minutes. Such delays
// are no reason for a longer grace period.
func (b *judged) explained(n *node) bool {
	own, short := n.sumSilences(verdict.Node, verdict.Slow, verdict.Late), n.sumSilences(verdict.GracePeriod)
	return n.LongestInterval > b.grace.LateThreshold() && !(own.times > 0 && b.isLately(own.last)) && !(short.times > 0 && b.isLately(short.last))
}

// nodesWith returns the nodes with a current or past verdict v. If reasons are given, it ignores silences with other
// reasons.
func (b *judged) nodesWith(v verdict.Verdict, reasons ...verdict.Reason) (all []lateNode) {
	for i := range b.nodes {
		n := &b.nodes[i]
		x := n.sumSilences(v, reasons...)
		switch {
		case len(reasons) == 0 && slices.Contains(n.verdicts, v):
			x.last, x.missed = b.now, x.missed || b.grace.Period > 0 && (n.LongestInterval > b.grace.Period || n.MissedHeartbeats > 0)
		case x.times == 0:
			continue
		}
		all = append(all, x)
	}
	sortSlowest(all)
	return all
}

func sortSlowest(nodes []lateNode) {
	slices.SortFunc(nodes, func(x, y lateNode) int {
		return cmp.Or(cmp.Compare(y.LongestInterval, x.LongestInterval), cmp.Compare(y.LateHeartbeats, x.LateHeartbeats), strings.Compare(x.Name, y.Name))
	})
}

// nodeAdvice is the advice on nodes of one kind.
type nodeAdvice struct {
	kind string
	// severity is empty if it is bad for nodes that missed a heartbeat, and otherwise a warning.
	severity string
	nodes    []lateNode
	// observed is the format of a text with the number of these nodes, the number of all nodes, and the names.
	observed    string
	advice, why func([]lateNode) string
}

// nodeRecommendations returns the recommendations about nodes. The verdict of an incident names the component at fault,
// and the report repeats the verdict.
func (b *judged) nodeRecommendations() (all []Recommendation) {
	const late, affected = "%d of %d nodes late: %s", "incidents of this kind affect %d of %d nodes: %s"
	text := func(s string) func([]lateNode) string { return func([]lateNode) string { return s } }
	remedy := func(v verdict.Verdict) func([]lateNode) string {
		return named(func(nodes string) string {
			return advice.VerdictRemedy(v, nodes, "the command that /flaps shows with the incident", b.grace.Managed)
		})
	}
	for _, x := range []nodeAdvice{
		{"control_plane_late", "", b.nodesWith(verdict.SharedPath), late, b.checkControlPlane, b.whyControlPlane},
		{
			"controller_manager_slow", bad, b.nodesWith(verdict.ControllerManager), affected, remedy(verdict.ControllerManager),
			text("the node controller was wrong about these nodes: it set them to Unknown although their heartbeats were on time, or left them Ready although they were silent."),
		},
		{
			"nodes_rebooted", warning, b.nodesWith(verdict.NodeRebooted), affected, remedy(verdict.NodeRebooted),
			text("these nodes reported a new bootID, so their machines restarted. No taint, deletion, condition or cordon had announced the restarts."),
		},
		{
			"kubelets_upgraded", warning, b.nodesWith(verdict.Node, verdict.Upgraded), affected, named(advice.UpgradedRemedy),
			text("these nodes reported a different kubelet version after the silence. No taint, deletion, condition or cordon had announced the upgrades."),
		},
		{
			"clocks_set_back", warning, b.nodesWith(verdict.Node, verdict.ClockSetBack), affected, named(advice.ClockRemedy),
			text("heartbeats of these nodes arrived on time, but their timestamps were older than the previous ones, so the node controller ignored them."),
		},
		{
			"undecided", warning, b.nodesWith(verdict.Undecided), affected, remedy(verdict.Undecided),
			text("a wrong verdict would be worse than none. The incident page shows the hypotheses, and a command that can decide between them."),
		},
		{
			"nodes_slow", "", b.slow, late,
			text("check the kubelet: CPU and disk pressure, garbage collection of containers and images, and the network to the API server"), b.whySlow,
		},
		{
			"nodes_silent", warning, b.silent, "%d of %d nodes silent: %s",
			text("check whether the machine was down; delete the Node if it will not return"),
			text(fmt.Sprintf("no grace period should cover more than %s. A node that is silent for longer is down, not slow.", brief(advice.LongestGrace))),
		},
	} {
		all = append(all, b.byAge(x)...)
	}
	return all
}

// named returns a function that passes the name of the first node, and the number of the others, to remedy.
func named(remedy func(nodes string) string) func([]lateNode) string {
	return func(nodes []lateNode) string {
		var names []string
		for _, n := range nodes {
			names = append(names, n.Name)
		}
		return remedy(phrase.Some(names))
	}
}

// byAge returns the recommendation about nodes of one kind. Nodes whose newest silence is older than worthAction get a
// separate note.
func (b *judged) byAge(a nodeAdvice) (all []Recommendation) {
	var fresh, old []lateNode
	for _, n := range a.nodes {
		if b.now.Sub(n.last) > worthAction {
			old = append(old, n)
		} else {
			fresh = append(fresh, n)
		}
	}
	for i, nodes := range [][]lateNode{fresh, old} {
		if len(nodes) == 0 {
			continue
		}
		severity := cmp.Or(a.severity, warning)
		switch {
		case i == 1:
			severity = note
		case a.severity == "" && slices.ContainsFunc(nodes, func(n lateNode) bool { return n.missed }):
			severity = bad
		}
		x := Recommendation{
			Kind: a.kind, Severity: severity, Set: "a heartbeat every " + brief(b.grace.Interval),
			Observed: fmt.Sprintf(a.observed, len(nodes), len(b.nodes), b.nameSome(nodes)), Advice: a.advice(nodes), Why: a.why(nodes),
		}
		for _, n := range nodes {
			x.Nodes = append(x.Nodes, LateNode{n.Name, rounded(n.LongestInterval.Seconds()), n.LateHeartbeats, n.MissedHeartbeats, n.times, n.last.UTC().Truncate(time.Second)})
		}
		all = append(all, x)
	}
	return all
}

func (b *judged) whySlow(slow []lateNode) string {
	switch {
	case len(b.nodes) == 1:
		return "with one node, a slow kubelet looks the same as a slow API server or etcd, so check those, too."
	case float64(len(slow)) >= together*float64(len(b.nodes)):
		return "nearly all nodes were late at some time. If they were late at the same time, the fault is in etcd or the API server, not in the nodes."
	}
	return "the other nodes are on time, so the fault is neither in the API server nor in etcd; a longer grace period would only hide it."
}

func (b *judged) checkControlPlane(late []lateNode) string {
	if others := len(b.nodes) - len(late); others > 0 {
		return "if the heartbeats of the other " + phrase.Count(others, "node", "nodes") + " are on time, etcd works: " + advice.OnlyThese +
			"; if not, check etcd and the API server; do not change the grace period"
	}
	return "check etcd first (its disk: etcd_disk_wal_fsync_duration_seconds; its leader: etcd_server_leader_changes_seen_total), " +
		"then the API server's load; do not change the grace period"
}

func (b *judged) whyControlPlane(late []lateNode) string {
	if len(late) < len(b.nodes) {
		return "the incident's verdict is shared_path: these nodes share something on the way to the API server, and the page shows which label they share."
	}
	return "nodes that are late together have the control plane in common, which could not write their heartbeats."
}

func (b *judged) nameSome(nodes []lateNode) string {
	var names []string
	for i, n := range nodes {
		if i == some {
			names = append(names, fmt.Sprintf("and %d more", len(nodes)-some))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", n.Name, b.when(&n)))
	}
	return strings.Join(names, ", ")
}

func (b *judged) when(n *lateNode) string {
	moment := n.last.UTC().Format("2006-01-02 15:04 UTC")
	switch {
	case n.LongestInterval > b.grace.LateThreshold() && b.isLately(n.last):
		return brief(n.LongestInterval)
	case n.times == 0:
		return times(n.LateHeartbeats) + ", but not recently"
	case n.times == 1:
		return "at " + moment
	}
	return times(n.times) + ", most recently at " + moment
}
