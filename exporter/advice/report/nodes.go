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
	// lately is the period for which kubeflap's metrics show the longest heartbeat interval of a node.
	lately = 10 * time.Minute
	// If the newest silence of a node is older than worthAction, the node only gets a note.
	worthAction = 24 * time.Hour
	// some is the maximum number of names in a text. The JSON contains all nodes.
	some = 5
)

// sumSilences adds up the node's silences with the verdict v. If reasons are given, it ignores silences with other
// reasons.
func (n *node) sumSilences(v verdict.Verdict, reasons ...verdict.Reason) LateNode {
	sum := LateNode{Node: n.Name, Longest: rounded(n.LongestInterval.Seconds()), Late: n.LateHeartbeats, Missed: n.MissedHeartbeats, longest: n.LongestInterval}
	for _, s := range n.silences {
		if s.Verdict != v || len(reasons) > 0 && !slices.Contains(reasons, s.Reason) {
			continue
		}
		sum.Times += s.Count
		sum.missed = sum.missed || s.Count > 0 && s.Reason != verdict.Late
		if s.Last.After(sum.Last) {
			sum.Last = s.Last
		}
	}
	return sum
}

func (c *cluster) isLately(t time.Time) bool { return c.now.Sub(t) <= lately }

// explained reports whether something other than the node delayed its heartbeats in the last ten minutes. Such delays
// are no reason for a longer grace period.
func (c *cluster) explained(n *node) bool {
	own, short := n.sumSilences(verdict.Node, verdict.Slow, verdict.Late), n.sumSilences(verdict.GracePeriod)
	return n.LongestInterval > c.grace.LateThreshold() && !(own.Times > 0 && c.isLately(own.Last)) && !(short.Times > 0 && c.isLately(short.Last))
}

// nodesWith returns the nodes with a current or past verdict v, slowest first. If reasons are given, it ignores silences
// with other reasons.
func (c *cluster) nodesWith(v verdict.Verdict, reasons ...verdict.Reason) (all []LateNode) {
	for i := range c.nodes {
		n := &c.nodes[i]
		x := n.sumSilences(v, reasons...)
		switch {
		case len(reasons) == 0 && slices.Contains(n.verdicts, v):
			x.Last, x.missed = c.now, x.missed || c.grace.Period > 0 && (n.LongestInterval > c.grace.Period || n.MissedHeartbeats > 0)
		case x.Times == 0:
			continue
		}
		all = append(all, x)
	}
	slices.SortFunc(all, func(x, y LateNode) int {
		return cmp.Or(cmp.Compare(y.longest, x.longest), cmp.Compare(y.Late, x.Late), strings.Compare(x.Node, y.Node))
	})
	return all
}

// nodeAdvice is the advice on nodes of one kind.
type nodeAdvice struct {
	kind string
	// severity is empty if it is bad for nodes that missed a heartbeat, and otherwise a warning.
	severity string
	nodes    []LateNode
	// observed is the format of a text with the number of these nodes, the number of all nodes, and the names.
	observed string
	texts    func([]LateNode) (advice, why string)
}

// nodeRecommendations returns the recommendations about nodes. The verdict of an incident names the component at fault,
// and the report repeats the verdict.
func (c *cluster) nodeRecommendations() (all []Recommendation) {
	const late, affected = "%d of %d nodes late: %s", "incidents of this kind affect %d of %d nodes: %s"
	remedy := func(lost advice.LostNodes, why string) func([]LateNode) (string, string) {
		return func(nodes []LateNode) (string, string) {
			var names []string
			for _, n := range nodes {
				names = append(names, n.Node)
			}
			lost.Names, lost.Command, lost.Grace = phrase.Some(names), "the command that /flaps shows with the incident", c.grace
			text, _ := lost.Fix()
			return text, why
		}
	}
	slow := slices.DeleteFunc(c.nodesWith(verdict.Node, verdict.Slow, verdict.Late), func(n LateNode) bool { return !n.missed && n.Times < often && !c.isLately(n.Last) })
	for _, x := range []nodeAdvice{
		{"control_plane_late", "", c.nodesWith(verdict.SharedPath), late, c.onControlPlane},
		{"controller_manager_slow", bad, c.nodesWith(verdict.ControllerManager), affected, remedy(advice.LostNodes{Verdict: verdict.ControllerManager},
			"the node controller was wrong about these nodes: it set them to Unknown although their heartbeats were on time, or left them Ready although they were silent.")},
		{"nodes_rebooted", warning, c.nodesWith(verdict.NodeRebooted), affected, remedy(advice.LostNodes{Verdict: verdict.NodeRebooted},
			"these nodes reported a new bootID, so their machines restarted. No taint, deletion, condition or cordon had announced the restarts.")},
		{"kubelets_upgraded", warning, c.nodesWith(verdict.Node, verdict.Upgraded), affected, remedy(advice.LostNodes{Verdict: verdict.Node, Upgraded: true},
			"these nodes reported a different kubelet version after the silence. No taint, deletion, condition or cordon had announced the upgrades.")},
		{"clocks_set_back", warning, c.nodesWith(verdict.Node, verdict.ClockSetBack), affected, remedy(advice.LostNodes{Verdict: verdict.Node, ClockSetBack: true},
			"heartbeats of these nodes arrived on time, but their timestamps were older than the previous ones, so the node controller ignored them.")},
		{"undecided", warning, c.nodesWith(verdict.Undecided), affected, remedy(advice.LostNodes{Verdict: verdict.Undecided},
			"a wrong verdict would be worse than none. The incident page shows the hypotheses, and a command that can decide between them.")},
		{"nodes_slow", "", slow, late, c.onSlow},
		{"nodes_silent", warning, c.nodesWith(verdict.Node, verdict.Down), "%d of %d nodes silent: %s", func([]LateNode) (string, string) {
			return "check whether the machine was down; delete the Node if it will not return",
				fmt.Sprintf("no grace period should cover more than %s. A node that is silent for longer is down, not slow.", brief(advice.LongestGrace))
		}},
	} {
		isOld := func(n LateNode) bool { return c.now.Sub(n.Last) > worthAction }
		all = append(all, c.recommend(x, "", slices.DeleteFunc(slices.Clone(x.nodes), isOld))...)
		all = append(all, c.recommend(x, note, slices.DeleteFunc(x.nodes, func(n LateNode) bool { return !isOld(n) }))...)
	}
	return all
}

// recommend returns the recommendation about some of the nodes of one kind, if there are any. Their severity overrides
// that of the kind.
func (c *cluster) recommend(a nodeAdvice, severity string, nodes []LateNode) []Recommendation {
	if len(nodes) == 0 {
		return nil
	}
	if severity = cmp.Or(severity, a.severity); severity == "" {
		if severity = warning; slices.ContainsFunc(nodes, func(n LateNode) bool { return n.missed }) {
			severity = bad
		}
	}
	x := Recommendation{
		Kind: a.kind, Severity: severity, Set: "a heartbeat every " + brief(c.grace.Interval), Observed: fmt.Sprintf(a.observed, len(nodes), len(c.nodes), c.nameSome(nodes)),
	}
	x.Advice, x.Why = a.texts(nodes)
	for _, n := range nodes {
		n.Last = n.Last.UTC().Truncate(time.Second)
		x.Nodes = append(x.Nodes, n)
	}
	return []Recommendation{x}
}

// onSlow returns the advice on slow nodes, and the reason.
func (c *cluster) onSlow(slow []LateNode) (check, why string) {
	check = "check the kubelet: CPU and disk pressure, garbage collection of containers and images, and the network to the API server"
	switch {
	case len(c.nodes) == 1:
		return check, "with one node, a slow kubelet looks the same as a slow API server or etcd, so check those, too."
	case slices.ContainsFunc(c.nodes, func(n node) bool { return n.LateHeartbeats > 0 && n.Name != slow[0].Node }):
		return check + "; if the kubelets are healthy, " + advice.SomeWrites, "the incident's verdict is node: no other nodes were late at the same time, or only by chance."
	}
	return check, "the other nodes are on time, so the fault is neither in the API server nor in etcd; a longer grace period would only hide it."
}

// onControlPlane returns the advice on nodes that were late together, and the reason.
func (c *cluster) onControlPlane(late []LateNode) (check, why string) {
	if others := len(c.nodes) - len(late); others > 0 {
		return advice.OnlyThese + "; if they share nothing, " + advice.SomeWrites + "; do not change the grace period",
			"the incident's verdict is shared_path: these nodes share something on the way to the API server, and the page shows which label they share."
	}
	return "check etcd first (its disk: etcd_disk_wal_fsync_duration_seconds; its leader: etcd_server_leader_changes_seen_total), " +
			"then the API server's load; do not change the grace period",
		"nodes that are late together have the control plane in common, which could not write their heartbeats."
}

func (c *cluster) nameSome(nodes []LateNode) string {
	var names []string
	for i, n := range nodes {
		if i == some {
			names = append(names, fmt.Sprintf("and %d more", len(nodes)-some))
			break
		}
		names = append(names, fmt.Sprintf("%s (%s)", n.Node, c.when(&n)))
	}
	return strings.Join(names, ", ")
}

func (c *cluster) when(n *LateNode) string {
	moment := n.Last.UTC().Format("2006-01-02 15:04 UTC")
	switch {
	case n.longest > c.grace.LateThreshold() && c.isLately(n.Last):
		return brief(n.longest)
	case n.Times == 0:
		return times(n.Late) + ", but not recently"
	case n.Times == 1:
		return "at " + moment
	}
	return times(n.Times) + ", most recently at " + moment
}
