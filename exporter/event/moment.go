package event

import (
	"math"
	"time"
)

// Moment is a time, stored as one plus the nanoseconds since a start time. The value 0 means no time. A Moment takes a
// third of the memory of a time.Time. If the time and the start time both have a monotonic clock reading, a change of
// the wall clock does not affect the Moment.
type Moment int64

// MomentOf returns the Moment of t for the start time `begin`, or 0 if t is zero. It clamps the difference between the
// two times to 292 years.
func MomentOf(t, begin time.Time) Moment {
	if t.IsZero() {
		return 0
	}
	return Moment(min(t.Sub(begin), math.MaxInt64-1)) + 1
}

// Time converts m back to a time. `begin` must be the start time that was passed to MomentOf.
func (m Moment) Time(begin time.Time) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return begin.Add(time.Duration(m - 1))
}
