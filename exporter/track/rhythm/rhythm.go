// Package rhythm measures the intervals of regular events.
package rhythm

import "time"

// Shortest is the shortest interval that counts. A shorter interval comes from a heartbeat that was written twice.
const Shortest = time.Second

const (
	// A count rises with each interval that agrees with the previous intervals, and falls with each interval that does
	// not agree. A rhythm is regular if the count is at least regularAfter. The count stops at regularMost. This value
	// exceeds regularAfter, so that a few irregular intervals do not end the rhythm.
	regularAfter = 4
	regularMost  = 8
)

// Rhythm measures the interval of a regular event. Use a separate Rhythm for each kind of heartbeat.
type Rhythm struct {
	every  time.Duration
	agreed uint8
}

// Learn adds an interval, and reports whether the result of Known changed. Two intervals agree if they differ by at
// most one second or 10 %, whichever is larger. The tolerance is necessary because lastHeartbeatTime is in whole
// seconds.
func (r *Rhythm) Learn(d time.Duration) bool {
	was := r.Known()
	switch diff := d - r.every; {
	case d < Shortest:
		return false // the heartbeat was written twice
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

// Known returns the interval, rounded to a second, or 0 if there is no regular interval.
func (r *Rhythm) Known() time.Duration {
	if r.agreed < regularAfter {
		return 0
	}
	return max(r.every.Round(time.Second), Shortest)
}
