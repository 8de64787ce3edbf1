package grace

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Intervals counts nodes by how often they send heartbeats. The zero value has none.
type Intervals map[time.Duration]int

// Move records that a node sends heartbeats at another interval than before. A node that does not exist has the interval 0.
func (x *Intervals) Move(was, is time.Duration) {
	if *x == nil {
		*x = Intervals{}
	}
	if (*x)[was]--; (*x)[was] <= 0 {
		delete(*x, was)
	}
	if is > 0 {
		(*x)[is]++
	}
}

// Longest is the longest interval of all nodes, 0 without nodes.
func (x Intervals) Longest() (longest time.Duration) {
	for every := range x {
		longest = max(longest, every)
	}
	return longest
}

// Nodes is how many nodes there are.
func (x Intervals) Nodes() (nodes int) {
	for _, n := range x {
		nodes += n
	}
	return nodes
}

// IsNews reports whether what decides about the grace period differs from what was last reported.
func IsNews(last, now transition.GracePeriodKnown) bool {
	last.At = now.At
	return !now.Time.IsZero() && now != last
}
