package report

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// A node with at least this many late heartbeats counts as slow, even if all of them are old. Each reboot causes one
// late heartbeat, so one or two are not enough.
const often = 3

// If at least this fraction of the nodes was late, the control plane may be at fault.
const together = 0.8

// heartbeats evaluates the heartbeats of a cluster.
type heartbeats struct {
	grace  time.Duration
	source string
	// heartbeatInterval is the expected heartbeat interval. recommended is the grace period to set, or 0 if there is no
	// recommendation.
	heartbeatInterval, recommended time.Duration
	managed                        bool
	now                            time.Time
	nodes                          []Node
	intervals                      Histogram
	// The slice slow holds the nodes with late heartbeats. The slice silent holds the nodes that were down.
	slow, silent []lateNode
	// The field earlier is an upper bound on the length of heartbeat intervals that ended more than ten minutes ago and
	// that the grace period should cover. It is 0 if there are no such intervals.
	earlier time.Duration
}

func judge(c Cluster) *heartbeats {
	b := &heartbeats{
		grace: c.Grace, source: c.GraceSource, nodes: c.Nodes, intervals: c.Intervals,
		heartbeatInterval: cmp.Or(c.Expected, advice.HeartbeatInterval), recommended: c.Recommended, managed: c.Managed, now: c.Now,
	}
	for i := range b.nodes {
		b.noteNode(&b.nodes[i])
	}
	sortSlowest(b.slow)
	sortSlowest(b.silent)
	if b.recommended > b.grace && !b.settings().Unsafe() && 2*b.recent(c.Nodes) <= b.grace {
		b.earlier = b.recommended / 2
	}
	return b
}

func (b *heartbeats) slowFrom() time.Duration {
	return b.settings().LateThreshold()
}

// recent returns the longest heartbeat interval of the last ten minutes. It ignores nodes that were down, and delays
// that were not the node's fault.
func (b *heartbeats) recent(nodes []Node) (longest time.Duration) {
	for i := range nodes {
		if n := &nodes[i]; n.Longest <= advice.LongestGrace && !b.explained(n) {
			longest = max(longest, n.Longest)
		}
	}
	return longest
}

// stalled reports whether a stalled control plane explains all late intervals of the last ten minutes.
func (b *heartbeats) stalled() bool {
	return b.recent(b.nodes) == 0 && b.earlier == 0 && len(b.nodesWith(verdict.SharedPath)) > 0
}

// longest returns the longest interval that the grace period must cover. It ignores late intervals that a stalled
// control plane caused.
func (b *heartbeats) longest() time.Duration {
	if b.stalled() {
		return b.settings().LongestOnTime()
	}
	return max(b.recent(b.nodes), b.earlier)
}

// renewals returns the number of renewals that fit into the grace period.
func (b *heartbeats) renewals() int { return int(b.grace / b.settings().LongestOnTime()) }

func (b *heartbeats) longestText() string {
	switch {
	case b.stalled():
		return "up to " + brief(b.longest()) + " while the control plane is healthy"
	case b.earlier > 0:
		return "up to " + brief(b.earlier) + " (more than ten minutes ago)"
	}
	return "up to " + brief(b.longest())
}

func (b *heartbeats) summary() Heartbeats {
	var longest time.Duration
	for _, n := range b.nodes {
		longest = max(longest, n.Longest)
	}
	longest = max(longest, b.earlier)
	typical := min(b.intervals.median(), longest)
	h := Heartbeats{
		Nodes: len(b.nodes), Grace: b.grace.Seconds(), GraceSource: b.source,
		Observed: b.intervals.total(), Typical: rounded(typical.Seconds()), Longest: rounded(longest.Seconds()),
		Renewals: b.renewals(), Expected: b.heartbeatInterval.Seconds(), Recommended: b.recommended.Seconds(), LeaseWrites: float64(len(b.nodes)) / b.heartbeatInterval.Seconds(),
	}
	if longest > 0 {
		h.Margin = rounded(b.grace.Seconds() / longest.Seconds())
	}
	return h
}

// nodeRecommendations returns the recommendations about late nodes.
func (b *heartbeats) nodeRecommendations() (all []Recommendation) {
	all = append(b.verdictRecommendations(), b.byAge(b.slow, func(nodes []lateNode) Recommendation {
		return Recommendation{
			Kind: NodesSlow, Severity: severity(nodes), Nodes: lateNodes(nodes), Set: b.renewalText(),
			Observed: fmt.Sprintf("%d of %d nodes late: %s", len(nodes), len(b.nodes), b.nameSome(nodes)),
			Advice:   "check the kubelet: CPU and disk pressure, garbage collection of containers and images, and the network to the API server",
			Why:      b.whySlow(len(nodes)),
		}
	})...)
	return append(all, b.byAge(b.silent, func(nodes []lateNode) Recommendation {
		return Recommendation{
			Kind: NodesSilent, Severity: Warning, Nodes: lateNodes(nodes), Set: b.renewalText(),
			Observed: fmt.Sprintf("%d of %d nodes silent: %s", len(nodes), len(b.nodes), b.nameSome(nodes)),
			Advice:   "check whether the machine was down; delete the Node if it will not return",
			Why:      fmt.Sprintf("no grace period should cover more than %s. A node that is silent for longer is down, not slow.", brief(advice.LongestGrace)),
		}
	})...)
}

func (b *heartbeats) whySlow(slow int) string {
	switch {
	case len(b.nodes) == 1:
		return "with one node, a slow kubelet looks the same as a slow API server or etcd, so check those, too."
	case float64(slow) >= together*float64(len(b.nodes)):
		return "nearly all nodes were late at some time. If they were late at the same time, the fault is in etcd or the API server, not in the nodes."
	}
	return "the other nodes are on time, so the fault is neither in the API server nor in etcd; a longer grace period would only hide it."
}

func (b *heartbeats) renewalText() string { return "a heartbeat every " + brief(b.heartbeatInterval) }

func (b *heartbeats) controlPlane(late []lateNode) Recommendation {
	x := Recommendation{
		Kind: ControlPlaneLate, Severity: severity(late), Nodes: lateNodes(late), Set: b.renewalText(),
		Observed: fmt.Sprintf("%d of %d nodes late: %s", len(late), len(b.nodes), b.nameSome(late)),
		Advice: "check etcd first (its disk: etcd_disk_wal_fsync_duration_seconds; its leader: etcd_server_leader_changes_seen_total), " +
			"then the API server's load; do not change the grace period",
		Why: "nodes that are late together have the control plane in common, which could not write their heartbeats.",
	}
	if others := len(b.nodes) - len(late); others > 0 {
		x.Advice = "if the heartbeats of the other " + phrase.Count(others, "node", "nodes") + " are on time, etcd works: " + advice.OnlyThese +
			"; if not, check etcd and the API server; do not change the grace period"
		x.Why = "the incident's verdict is shared_path: these nodes share something on the way to the API server, and the page shows which label they share."
	}
	return x
}

func severity(nodes []lateNode) Severity {
	if slices.ContainsFunc(nodes, func(n lateNode) bool { return n.missed }) {
		return Bad
	}
	return Warning
}

func lateNodes(nodes []lateNode) []LateNode {
	all := make([]LateNode, len(nodes))
	for i, n := range nodes {
		all[i] = LateNode{n.Name, rounded(n.Longest.Seconds()), n.Late, n.Missed, n.times, n.last.Truncate(time.Second)}
	}
	return all
}
