package recording

import (
	"fmt"
	"time"
)

// maxSpan is how long after the first event of a recording an event can have been seen. A later time is a fault: such times
// would overflow a duration, and give counters that no cluster has.
const maxSpan = 10 * 366 * 24 * time.Hour

// span checks the times of a recording.
type span struct{ first time.Time }

// admit refuses a time long after the first event. A time before the first event is allowed.
func (s *span) admit(seen time.Time) error {
	if s.first.IsZero() {
		s.first = seen
	}
	if seen.Sub(s.first) > maxSpan {
		return fmt.Errorf("seen is %s, more than 10 years after the first event, at %s", stamp(seen), stamp(s.first))
	}
	return nil
}

// checkSeen refuses times before 1970 and from 2200 on.
func checkSeen(seen time.Time) error {
	switch {
	case seen.IsZero():
		return errNoSeen
	case seen.Unix() < 0 || seen.UTC().Year() >= 2200:
		return fmt.Errorf("seen is %s, which is not between 1970 and 2200", stamp(seen))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
