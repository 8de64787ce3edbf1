package recording

import (
	"fmt"
	"time"
)

// maxSpan is how much later than the first event of a recording another one can have been seen. What is later was seen by a clock
// that is wrong, or by nobody: times that far apart would overflow a duration, and make counters that no cluster has.
const maxSpan = 10 * 366 * 24 * time.Hour

// span is the time that a recording is of.
type span struct{ first time.Time }

// admit refuses what was seen long after the first event. That an event was seen before it is no fault.
func (s *span) admit(seen time.Time) error {
	if s.first.IsZero() {
		s.first = seen
	}
	if seen.Sub(s.first) > maxSpan {
		return fmt.Errorf("seen is %s, more than 10 years after the first event, at %s", stamp(seen), stamp(s.first))
	}
	return nil
}

// checkSeen refuses times at which there was no Kubernetes, or will be none.
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
