// Package earlier finds out from the first lists what happened to nodes before kubeflap watched them.
package earlier

import "time"

// returnedWithin is how soon another node must have turned Ready after a node was lost to have been lost with it, perhaps. A cluster that grows has
// new nodes all the time.
const returnedWithin = 10 * time.Minute

// longest is the longest time for which a node may have been lost. What is older is no time of a cluster.
const longest = 365 * 24 * time.Hour

// IsCredible reports whether something can have happened at a time, as of now.
func IsCredible(t, now time.Time) bool { return !t.IsZero() && now.Sub(t) <= longest }

// Told is the time of a heartbeat that is known only from the node's clock, but not later than now. It has the monotonic reading
// of kubeflap's clock, so setting that clock does not move it. It is zero if no heartbeat is known.
func Told(t, now time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.After(now):
		return now
	}
	return now.Add(t.Sub(now))
}

// Interval is the time from a heartbeat that only the node's clock told to one that was seen: by the clock of the node, if it is known when that was by this
// clock. So the offset of the clock does no harm.
func Interval(last, seen, toldLast, toldSeen time.Time) time.Duration {
	if toldLast.IsZero() || toldSeen.IsZero() {
		return seen.Sub(last)
	}
	return toldSeen.Sub(toldLast)
}

// Returns are when nodes of the first list had turned Ready. The zero value has none.
type Returns []time.Time

// Note records when a node of the first list had turned Ready.
func (r *Returns) Note(ready time.Time) {
	if !ready.IsZero() {
		*r = append(*r, ready)
	}
}

// After counts the nodes that had turned Ready soon after a node fell silent: they came back, or they are new.
func (r Returns) After(silent time.Time, period time.Duration) (nodes int) {
	for _, t := range r {
		if t.After(silent) && t.Sub(silent) <= period+returnedWithin {
			nodes++
		}
	}
	return nodes
}

// MarkedAge is how old the last heartbeat was when the node controller set a node of the first list to Unknown: the difference of two clocks, that of the
// controller and that of the node. It is 0 if the heartbeat was younger than the grace period: then the node has come back since, or the mark was
// an error, or the clocks differ. marked is in full seconds.
func MarkedAge(heartbeat, marked time.Time, period time.Duration) time.Duration {
	if marked.Add(time.Second).Sub(heartbeat) < period {
		return 0
	}
	return max(marked.Sub(heartbeat), period)
}
