package report

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// judged is a cluster with a judgement of its heartbeats.
type judged struct {
	Cluster
	// The slice slow holds the nodes with late heartbeats. The slice silent holds the nodes that were down.
	slow, silent []lateNode
	// The field earlier is an upper bound on the length of heartbeat intervals that ended more than ten minutes ago and
	// that the grace period should cover. It is 0 if there are no such intervals.
	earlier time.Duration
}

func judge(c Cluster) *judged {
	b := &judged{Cluster: c}
	b.Grace.Interval = cmp.Or(c.Grace.Interval, advice.HeartbeatInterval)
	for i := range b.Nodes {
		n := &b.Nodes[i]
		if down := n.sumSilences(verdict.Node, verdict.Down); down.times > 0 {
			b.silent = append(b.silent, down)
		}
		slow := n.sumSilences(verdict.Node, verdict.Slow, verdict.Late)
		if slow.missed || slow.times >= often || slow.times > 0 && b.isLately(slow.last) {
			b.slow = append(b.slow, slow)
		}
	}
	sortSlowest(b.slow)
	sortSlowest(b.silent)
	if b.Recommended > b.Grace.Period && !b.Grace.Unsafe() && 2*b.recent() <= b.Grace.Period {
		b.earlier = b.Recommended / 2
	}
	return b
}

// recent returns the longest heartbeat interval of the last ten minutes. It ignores nodes that were down, and delays
// that were not the node's fault.
func (b *judged) recent() (longest time.Duration) {
	for i := range b.Nodes {
		if n := &b.Nodes[i]; n.Longest <= advice.LongestGrace && !b.explained(n) {
			longest = max(longest, n.Longest)
		}
	}
	return longest
}

// stalled reports whether a stalled control plane explains all late intervals of the last ten minutes.
func (b *judged) stalled() bool {
	return b.recent() == 0 && b.earlier == 0 && len(b.nodesWith(verdict.SharedPath)) > 0
}

// toCover returns the longest interval that the grace period must cover. It ignores late intervals that a stalled
// control plane caused.
func (b *judged) toCover() time.Duration {
	if b.stalled() {
		return b.Grace.LongestOnTime()
	}
	return max(b.recent(), b.earlier)
}

// whenLongest says when the interval that toCover returns occurred, unless it is recent.
func (b *judged) whenLongest() string {
	switch {
	case b.stalled():
		return " while the control plane is healthy"
	case b.earlier > 0:
		return " (more than ten minutes ago)"
	}
	return ""
}

// renewals returns the number of renewals that fit into the grace period.
func renewals(g advice.GracePeriod) int { return int(g.Period / g.LongestOnTime()) }

func (b *judged) summary() Heartbeats {
	longest := b.earlier
	for _, n := range b.Nodes {
		longest = max(longest, n.Longest)
	}
	g, typical := b.Grace, min(b.Intervals.median(), longest)
	h := Heartbeats{
		Nodes: len(b.Nodes), Grace: g.Period.Seconds(), GraceSource: b.GraceSource,
		Observed: b.Intervals.total(), Typical: rounded(typical.Seconds()), Longest: rounded(longest.Seconds()),
		Renewals: renewals(g), Expected: g.Interval.Seconds(), Recommended: b.Recommended.Seconds(), LeaseWrites: float64(len(b.Nodes)) / g.Interval.Seconds(),
	}
	if longest > 0 {
		h.Margin = rounded(g.Period.Seconds() / longest.Seconds())
	}
	return h
}
