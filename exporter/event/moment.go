package event

import (
	"math"
	"time"
)

// Moment is a time as its distance from a beginning, in nanoseconds and one more: 0 is no time. It takes a third of a time.Time, where
// many are kept, and like that it does not heed a clock that is set.
type Moment int64

// MomentOf is t as its distance from begin, at most 292 years.
func MomentOf(t, begin time.Time) Moment {
	if t.IsZero() {
		return 0
	}
	return Moment(min(t.Sub(begin), math.MaxInt64-1)) + 1
}

// Time is the time of a Moment whose distance is from begin.
func (m Moment) Time(begin time.Time) time.Time {
	if m == 0 {
		return time.Time{}
	}
	return begin.Add(time.Duration(m - 1))
}
