package watches

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// eventClock keeps the current time.
type eventClock struct {
	// `begin` is the time of the first event or query. `now` is the time of the newest one, and never goes back.
	begin, now time.Time
	// `counting` is the time of the last call of StartCounting.
	counting time.Time
	agenda   agenda
	// scheduled counts the tasks that were added to the agenda.
	scheduled int
}

// Now returns the time of the newest event or query.
func (c *eventClock) Now() time.Time { return c.now }

// AdvanceTo advances the time to t, unless t is earlier.
func (c *eventClock) AdvanceTo(t time.Time) {
	if c.begin.IsZero() {
		c.begin = t
	}
	if t.After(c.now) {
		c.now = t
	}
}

// Moment converts a time to an event.Moment.
func (c *eventClock) Moment(t time.Time) event.Moment { return event.MomentOf(t, c.begin) }

// Time converts an event.Moment back to a time.
func (c *eventClock) Time(m event.Moment) time.Time { return m.Time(c.begin) }

// Counted returns the part of the time from `since` to `t` that counters include. They include no time before the last
// call of StartCounting.
func (c *eventClock) Counted(since, t time.Time) time.Duration {
	return max(t.Sub(c.CountedFrom(since)), 0)
}

// CountedFrom returns the later of t and the time of the last call of StartCounting.
func (c *eventClock) CountedFrom(t time.Time) time.Time {
	if c.counting.After(t) {
		return c.counting
	}
	return t
}
