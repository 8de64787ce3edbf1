package event

import (
	"math"
	"time"
)

// Moment is a time: its distance from a beginning in nanoseconds, plus one, so that 0 is no time. It needs a third of the memory of
// a time.Time. Like that, it does not change when the clock is set.
type Moment int64

// MomentOf converts t, relative to begin. The distance is limited to 292 years.
func MomentOf(t, begin time.Time) Moment {
	if t.IsZero() {
		return 0
	}
	return Moment(min(t.Sub(begin), math.MaxInt64-1)) + 1
}

// Time converts m back. The begin must be the one given to MomentOf.
func (m Moment) Time(begin time.Time) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return begin.Add(time.Duration(m - 1))
}
