package report

import (
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice"
)

// renewals returns the number of renewals that fit into the grace period.
func renewals(g advice.GracePeriod) int { return int(g.Period / g.LongestOnTime()) }

func (c *cluster) summary() Heartbeats {
	g, longest := c.grace, time.Duration(0)
	for _, n := range c.nodes {
		longest = max(longest, n.LongestInterval)
	}
	h := Heartbeats{
		Nodes: len(c.nodes), Grace: g.Period.Seconds(), GraceSource: string(c.graceSource),
		Observed: c.intervals.GetSampleCount(), Typical: rounded(min(median(c.intervals), longest).Seconds()), Longest: rounded(longest.Seconds()),
		Renewals: renewals(g), Expected: g.Interval.Seconds(), Recommended: g.Recommended().Seconds(), LeaseWrites: float64(len(c.nodes)) / g.Interval.Seconds(),
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
