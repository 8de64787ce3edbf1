// Package earlier infers from the first lists what happened to nodes before kubeflap started watching.
package earlier

import "time"

// returnedWithin is the maximum time from the end of a lost node's grace period to the return of a related node. It is
// short because a growing cluster gets new nodes all the time.
const returnedWithin = 10 * time.Minute

// longest is the maximum credible age of a loss. A larger age indicates a wrong clock.
const longest = 365 * 24 * time.Hour

// IsCredible reports whether t is set and is at most one year before now.
func IsCredible(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) <= longest }

// Convert converts a heartbeat time from the node's clock and limits it to now. The result contains the monotonic reading
// of kubeflap's clock, so that setting that clock does not move it. Convert returns zero if no heartbeat is known.
func Convert(t, now time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.After(now):
		return now
	}
	return now.Add(t.Sub(now))
}

// Interval returns the time between two heartbeats of which kubeflap saw only the second. The first one is known from
// the node's clock. If the node's clock shows both times, Interval compares those, so that a clock offset has no
// effect.
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

// MarkedAge returns the age of the last heartbeat when the node controller set a node in the first list to Unknown. It
// compares the controller's clock with the node's. It returns 0 if the heartbeat was younger than the grace period: the
// node has returned since, the mark was wrong, or the clocks differ. marked has a precision of one second.
func MarkedAge(heartbeat, marked time.Time, period time.Duration) time.Duration {
	if marked.Add(time.Second).Sub(heartbeat) < period {
		return 0
	}
	return max(marked.Sub(heartbeat), period)
}
