package grace

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Intervals counts the nodes by their heartbeat interval. The zero value has no nodes.
type Intervals map[time.Duration]int

// Move records a change of a node's heartbeat interval. The interval of a node that does not exist is 0.
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

// Longest returns the longest interval of all nodes, or 0 if there are no nodes.
func (x Intervals) Longest() (longest time.Duration) {
	for every := range x {
		longest = max(longest, every)
	}
	return longest
}

// Nodes returns the number of nodes.
func (x Intervals) Nodes() (nodes int) {
	for _, n := range x {
		nodes += n
	}
	return nodes
}

// IsNews reports whether the facts that determine the grace period differ from the facts that were last reported.
func IsNews(last, now transition.GracePeriodKnown) bool {
	last.At = now.At
	return !now.Time.IsZero() && now != last
}
