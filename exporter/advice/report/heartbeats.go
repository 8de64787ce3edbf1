package report

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// judged is a cluster with a judgement of its heartbeats.
type judged struct {
	cluster
	// The slice slow holds the nodes with late heartbeats. The slice silent holds the nodes that were down.
	slow, silent []lateNode
	// The field earlier is an upper bound on the length of heartbeat intervals that ended more than ten minutes ago and
	// that the grace period should cover. It is 0 if there are no such intervals.
	earlier time.Duration
}

func judge(c cluster) *judged {
	b := &judged{cluster: c}
	b.grace.Interval = cmp.Or(c.grace.Interval, advice.HeartbeatInterval)
	for i := range b.nodes {
		n := &b.nodes[i]
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
	if b.recommended > b.grace.Period && !b.grace.Unsafe() && 2*b.recent() <= b.grace.Period {
		b.earlier = b.recommended / 2
	}
	return b
}

// recent returns the longest heartbeat interval of the last ten minutes. It ignores nodes that were down, and delays
// that were not the node's fault.
func (b *judged) recent() (longest time.Duration) {
	for i := range b.nodes {
		if n := &b.nodes[i]; n.LongestInterval <= advice.LongestGrace && !b.explained(n) {
			longest = max(longest, n.LongestInterval)
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
		return b.grace.LongestOnTime()
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
	for _, n := range b.nodes {
		longest = max(longest, n.LongestInterval)
	}
	g, typical := b.grace, min(median(b.intervals), longest)
	h := Heartbeats{
		Nodes: len(b.nodes), Grace: g.Period.Seconds(), GraceSource: string(b.graceSource),
		Observed: b.intervals.GetSampleCount(), Typical: rounded(typical.Seconds()), Longest: rounded(longest.Seconds()),
		Renewals: renewals(g), Expected: g.Interval.Seconds(), Recommended: b.recommended.Seconds(), LeaseWrites: float64(len(b.nodes)) / g.Interval.Seconds(),
	}
	if longest > 0 {
		h.Margin = rounded(g.Period.Seconds() / longest.Seconds())
	}
	return h
}
