// Package earlier infers from the first lists what happened to nodes before kubeflap started watching.
package earlier

import "time"

// returnedWithin limits the time from the end of a lost node's grace period until another node becomes Ready. A node
// that becomes Ready later counts as unrelated, because a growing cluster gets new nodes all the time.
const returnedWithin = 10 * time.Minute

// longest is the maximum credible age of a loss. A larger age indicates a wrong clock.
const longest = 365 * 24 * time.Hour

// IsCredible reports whether t is set and is at most one year before now.
func IsCredible(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) <= longest }

// Convert interprets a heartbeat time by the node's clock as a time by kubeflap's clock. If that time is after now,
// Convert returns now. The result contains a monotonic reading, so that setting kubeflap's clock does not shift the
// result. Convert returns zero if no heartbeat is known.
func Convert(t, now time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.After(now):
		return now
	}
	return now.Add(t.Sub(now))
}

// Interval returns the time between two heartbeats. last is the estimated time of the first heartbeat, which kubeflap
// did not see. seen is the time at which kubeflap saw the second. toldLast and toldSeen are the times of the two
// heartbeats by the node's clock, or zero if unknown. If both are known, Interval uses them, so that a clock offset has
// no effect.
func Interval(last, seen, toldLast, toldSeen time.Time) time.Duration {
	if toldLast.IsZero() || toldSeen.IsZero() {
		return seen.Sub(last)
	}
	return toldSeen.Sub(toldLast)
}

// Returns holds the times at which nodes of the first list had become Ready.
type Returns []time.Time

// Note records the time at which a node of the first list had become Ready.
func (r *Returns) Note(ready time.Time) {
	if !ready.IsZero() {
		*r = append(*r, ready)
	}
}

// After returns the number of nodes that became Ready soon after another node fell silent. They either returned or are
// new.
func (r Returns) After(silent time.Time, period time.Duration) (nodes int) {
	for _, t := range r {
		if t.After(silent) && t.Sub(silent) <= period+returnedWithin {
			nodes++
		}
	}
	return nodes
}

// MarkedAge returns the age of a node's last heartbeat at the time when the node controller set the node to Unknown.
// heartbeat is by the node's clock. marked is by the controller's clock, in whole seconds. MarkedAge returns 0 if the
// heartbeat was younger than the grace period. In that case, the node has returned since that heartbeat, the controller
// was wrong, or the clocks differ.
func MarkedAge(heartbeat, marked time.Time, period time.Duration) time.Duration {
	if marked.Add(time.Second).Sub(heartbeat) < period {
		return 0
	}
	return max(marked.Sub(heartbeat), period)
}
