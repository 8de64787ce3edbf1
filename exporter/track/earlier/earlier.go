// Package earlier infers from the first lists what happened to nodes before kubeflap started watching.
package earlier

import "time"

// returnedWithin limits CountAfter to nodes that become Ready at most this long after the end of a lost node's grace
// period. Nodes that become Ready later count as unrelated, because a growing cluster gets new nodes all the time.
const returnedWithin = 10 * time.Minute

// `longest` is the maximum credible time since a node was lost. A longer time indicates a wrong clock.
const longest = 365 * 24 * time.Hour

// IsCredible reports whether t is set and is at most one year before `now`.
func IsCredible(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) <= longest }

// Convert converts the time of a heartbeat from the node's clock to kubeflap's clock. It assumes that the clocks agree,
// and returns `now` if t is later. The result has a monotonic reading, so a later change of kubeflap's clock does not
// affect it. If t is zero, Convert returns zero.
func Convert(t, now time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.After(now):
		return now
	}
	return now.Add(t.Sub(now))
}

// Interval returns the time between two heartbeats. The first was sent at the estimated time `last`, and kubeflap saw
// the second at `seen`. lastByNode and seenByNode are the times of the heartbeats by the node's clock, or zero if
// unknown. If both are known, Interval uses them, so a difference between the clocks has no effect.
func Interval(last, seen, lastByNode, seenByNode time.Time) time.Duration {
	if lastByNode.IsZero() || seenByNode.IsZero() {
		return seen.Sub(last)
	}
	return seenByNode.Sub(lastByNode)
}

// ReadyTimes holds the times at which nodes in the first list had become Ready.
type ReadyTimes []time.Time

// Note records the time at which a node in the first list had become Ready.
func (r *ReadyTimes) Note(ready time.Time) {
	if !ready.IsZero() {
		*r = append(*r, ready)
	}
}

// CountAfter returns the number of nodes that became Ready soon after another node fell silent. Each of these nodes has
// recovered or is new.
func (r ReadyTimes) CountAfter(silent time.Time, period time.Duration) (nodes int) {
	for _, t := range r {
		if t.After(silent) && t.Sub(silent) <= period+returnedWithin {
			nodes++
		}
	}
	return nodes
}

// MarkedAge returns the age of a node's last heartbeat at the time when the node controller set the node to Unknown.
// `heartbeat` is the time of the heartbeat by the node's clock. `marked` is the time of the change to Unknown by the
// controller's clock, in whole seconds. MarkedAge returns 0 if the heartbeat was younger than the grace period. In this
// case, the node has recovered, the controller was wrong, or the clocks differ.
func MarkedAge(heartbeat, marked time.Time, period time.Duration) time.Duration {
	if marked.Add(time.Second).Sub(heartbeat) < period {
		return 0
	}
	return max(marked.Sub(heartbeat), period)
}
