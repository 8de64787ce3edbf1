package recording

import (
	"fmt"
	"time"
)

// maxSpan is the maximum time between the first event and any later event of a recording. Reader and Writer reject
// longer times, so that no duration overflows.
const maxSpan = 10 * 366 * 24 * time.Hour

// span checks the times of a recording's events.
type span struct{ first time.Time }

// admit returns an error if the time is more than maxSpan after the first event. Times before the first event are
// allowed.
func (s *span) admit(seen time.Time) error {
	if s.first.IsZero() {
		s.first = seen
	}
	if seen.Sub(s.first) > maxSpan {
		return fmt.Errorf(`the field "seen" is %s, more than 10 years after the first event (%s)`, stamp(seen), stamp(s.first))
	}
	return nil
}

// checkSeen returns an error if the time is before 1970 or after 2199.
func checkSeen(seen time.Time) error {
	switch {
	case seen.IsZero():
		return errNoSeen
	case seen.Unix() < 0 || seen.UTC().Year() >= 2200:
		return fmt.Errorf(`the field "seen" is %s, which is not between 1970 and 2200`, stamp(seen))
	}
	return nil
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
