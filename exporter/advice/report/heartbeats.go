package report

import (
	"cmp"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// judge determines the longest heartbeat interval that the grace period must cover. It ignores nodes that were down, and
// delays that were not the node's fault.
func (c *cluster) judge() {
	c.grace.Interval = cmp.Or(c.grace.Interval, advice.HeartbeatInterval)
	for i := range c.nodes {
		if n := &c.nodes[i]; n.LongestInterval <= advice.LongestGrace && !c.explained(n) {
			c.toCover = max(c.toCover, n.LongestInterval)
		}
	}
	switch {
	case c.recommended > c.grace.Period && !c.grace.Unsafe() && 2*c.toCover <= c.grace.Period:
		c.earlier = c.recommended / 2
		c.toCover, c.whenLongest = c.earlier, ", more than ten minutes ago"
	case c.toCover == 0 && len(c.nodesWith(verdict.SharedPath)) > 0: // all late intervals are explained
		c.toCover, c.whenLongest = c.grace.LongestOnTime(), ", while the control plane is healthy"
	}
}

// renewals returns the number of renewals that fit into the grace period.
func renewals(g advice.GracePeriod) int { return int(g.Period / g.LongestOnTime()) }

func (c *cluster) summary() Heartbeats {
	longest := c.earlier
	for _, n := range c.nodes {
		longest = max(longest, n.LongestInterval)
	}
	g, typical := c.grace, min(median(c.intervals), longest)
	h := Heartbeats{
		Nodes: len(c.nodes), Grace: g.Period.Seconds(), GraceSource: string(c.graceSource),
		Observed: c.intervals.GetSampleCount(), Typical: rounded(typical.Seconds()), Longest: rounded(longest.Seconds()),
		Renewals: renewals(g), Expected: g.Interval.Seconds(), Recommended: c.recommended.Seconds(), LeaseWrites: float64(len(c.nodes)) / g.Interval.Seconds(),
	}
	if longest > 0 {
		h.Margin = rounded(g.Period.Seconds() / longest.Seconds())
	}
	return h
}

// sameWithin is the interval in seconds within which two heartbeats count as one. A kubelet reports a changed node
// status and renews its Lease at nearly the same time.
const sameWithin = 1

// median returns the median of the intervals longer than one second. It interpolates linearly within a bucket, as
// histogram_quantile does.
func median(h *dto.Histogram) time.Duration {
	var bound, rank float64
	var count uint64
	for _, b := range h.GetBucket() {
		upper, n := b.GetUpperBound(), b.GetCumulativeCount()
		if upper <= sameWithin {
			rank = float64(h.GetSampleCount()+n) / 2
		} else if n > count && float64(n) >= rank {
			share := (rank - float64(count)) / float64(n-count)
			return inSeconds(bound + share*(upper-bound))
		}
		bound, count = upper, n
	}
	return 0
}
