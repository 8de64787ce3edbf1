package event

import (
	"math"
	"time"
)

// Moment is a time, stored as nanoseconds since a start time, plus one. The value 0 means no time. A Moment takes a
// third of the memory of a time.Time. Like a time.Time with a monotonic reading, it does not change when the clock is
// set.
type Moment int64

// MomentOf converts the time t to its distance from the time begin. The distance is limited to 292 years. It returns 0
// if t is zero.
func MomentOf(t, begin time.Time) Moment {
	if t.IsZero() {
		return 0
	}
	return Moment(min(t.Sub(begin), math.MaxInt64-1)) + 1
}

// Time converts m back to a time. The parameter begin must be the start time that was passed to MomentOf.
func (m Moment) Time(begin time.Time) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return begin.Add(time.Duration(m - 1))
}
