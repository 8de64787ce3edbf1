package recording

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Play hands the events to apply at their pace, as the clock has it: each is due
// as long after the first one as it was seen after it, divided by the speed. An
// event that was seen before its predecessor (the clock of the recorder was set
// back) is due at once. Play ends with the events, with their first error, or
// with the context.
func Play(ctx context.Context, events iter.Seq2[event.Event, error], clock *Clock, apply func(event.Event)) error {
	if clock.speed < 0 || math.IsNaN(clock.speed) {
		return fmt.Errorf("speed %v: it must be above 0, or 0 for at once", clock.speed)
	}
	defer clock.stop()
	for ev, err := range events {
		if err != nil {
			return err
		}
		if err := sleep(ctx, clock.wait(ev.Seen)); err != nil {
			return err
		}
		// The clock goes first: a reader that shares a lock with apply, and looks
		// at the clock under it, never asks for a time before the last event.
		clock.reach(ev.Seen)
		apply(ev)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 || ctx.Err() != nil {
		return context.Cause(ctx)
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

// Clock tells the time in a replay. It is of the recording's time, never runs
// backwards, is never before the last event applied, and never beyond the next:
// so a reader gets the answers that it would have got when it was recorded, and
// after the end it stays at the last event. It serves one call of Play.
type Clock struct {
	speed float64

	mu sync.Mutex
	// first is when the first event was seen, started when it was played.
	first, started time.Time
	// low is the last event applied, high the one that is waited for.
	low, high time.Time
}

// NewClock makes the clock of a replay: speed 1 is the pace of the recording, 60 is
// a minute a second, 0 or infinity is at once.
func NewClock(speed float64) *Clock { return &Clock{speed: speed} }

// Now is the time in the replay, and the zero time before its first event.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now()
}

func (c *Clock) now() time.Time {
	now := c.low
	if c.paced() && c.high.After(c.low) {
		now = c.first.Add(duration(float64(time.Since(c.started)) * c.speed))
	}
	switch {
	case now.Before(c.low):
		return c.low
	case now.After(c.high):
		return c.high
	}
	return now
}

func (c *Clock) paced() bool { return c.speed > 0 && !math.IsInf(c.speed, 1) }

// wait returns how long it is until an event is due.
func (c *Clock) wait(seen time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started.IsZero() {
		c.first, c.started = seen, time.Now()
		c.low, c.high = seen, seen
	}
	if !c.paced() {
		return 0
	}
	if seen.After(c.low) {
		c.high = seen
	}
	due := duration(float64(seen.Sub(c.first)) / c.speed)
	return max(due, 0) - time.Since(c.started)
}

func (c *Clock) reach(seen time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen.After(c.low) {
		c.low = seen
	}
	c.high = c.low
}

// stop holds the clock where it is: no event will follow.
func (c *Clock) stop() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.low = c.now()
	c.high = c.low
}

// duration is a time.Duration of that many nanoseconds, or the nearest there is:
// a slow replay of a long recording overflows one.
func duration(nanoseconds float64) time.Duration {
	switch {
	case nanoseconds >= math.MaxInt64:
		return math.MaxInt64
	case nanoseconds <= math.MinInt64:
		return math.MinInt64
	}
	return time.Duration(nanoseconds)
}
