// Package rhythm finds how often something happens that happens regularly.
package rhythm

import "time"

// Shortest is the shortest interval that counts. What comes sooner is one heartbeat that was written twice.
const Shortest = time.Second

const (
	// regularAfter is how many intervals in a row must agree before they are taken for a rule; regularMost is larger, so that a few odd ones
	// change nothing.
	regularAfter = 4
	regularMost  = 8
)

// Rhythm is how often something happens that happens regularly. It is exact only for intervals that its own kind of heartbeat has: a slow
// kubelet has none.
type Rhythm struct {
	every  time.Duration
	agreed uint8
}

// Learn adds an interval, and reports whether Known may have changed. Intervals agree to a second or a tenth: lastHeartbeatTime
// has full seconds.
func (r *Rhythm) Learn(d time.Duration) bool {
	was := r.Known()
	switch diff := d - r.every; {
	case d < Shortest:
		return false // one heartbeat that was written twice
	case r.agreed == 0:
		r.every, r.agreed = d, 1
	case diff.Abs() <= max(r.every/10, time.Second):
		r.every += diff / 8
		r.agreed = min(r.agreed+1, regularMost)
	default:
		r.agreed--
	}
	return r.Known() != was
}

// Known is the interval to the second, 0 if there is none.
func (r *Rhythm) Known() time.Duration {
	if r.agreed < regularAfter {
		return 0
	}
	return max(r.every.Round(time.Second), Shortest)
}
