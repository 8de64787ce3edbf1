package recording

import (
	"context"
	"iter"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Play calls `apply` for each event. The delays between the calls are the recorded delays, divided by the clock's
// speed. If the recorder's clock was set back, the next event follows immediately. Play returns after the last event,
// at the first error, or when the context is canceled.
func Play(ctx context.Context, events iter.Seq2[event.Event, error], clock *Clock, apply func(event.Event)) error {
	defer func() { clock.reach(clock.Now()) }()
	for ev, err := range events {
		if err != nil {
			return err
		}
		if err := sleep(ctx, clock.delayUntil(ev.Seen)); err != nil {
			return err
		}
		// Advance the clock first. Otherwise, a concurrent reader could see an event from the future.
		clock.reach(ev.Seen)
		apply(ev)
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	if d > 0 {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	return context.Cause(ctx)
}

// Clock tells the time of the recorded cluster during a replay. This time never goes backwards. It is always between
// the times of the last applied event and the next event. At the end of the replay, the clock stops. Each call of Play
// needs its own Clock.
type Clock struct {
	speed float64 // 0 if there are no delays

	mu sync.Mutex
	// `first` is the recorded time of the first event. `started` is the real time at which the replay started.
	first, started time.Time
	// `low` is the time of the last applied event. `high` is the time of the next event, or `low` while there is none.
	low, high time.Time
}

// NewClock returns the clock of a replay. Speed 1 is real time. At speed 60, a minute of the recording takes a second.
// At speed 0, there are no delays. The speed must be finite, and not negative.
func NewClock(speed float64) *Clock { return &Clock{speed: speed} }

// Now returns the current time in the replay. It returns the zero time before the first event.
func (c *Clock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	now := c.first.Add(duration(float64(time.Since(c.started)) * c.speed))
	switch {
	case now.Before(c.low):
		return c.low
	case now.After(c.high):
		return c.high
	}
	return now
}

// delayUntil returns the time until an event is due.
func (c *Clock) delayUntil(seen time.Time) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.started.IsZero() {
		c.first, c.started, c.low, c.high = seen, time.Now(), seen, seen
	}
	if c.speed == 0 {
		return 0
	}
	if seen.After(c.low) {
		c.high = seen
	}
	return duration(float64(seen.Sub(c.first))/c.speed) - time.Since(c.started)
}

// reach is called when the replay has reached a time.
func (c *Clock) reach(seen time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if seen.After(c.low) {
		c.low = seen
	}
	c.high = c.low
}

// duration converts nanoseconds to a time.Duration of 0 to 146 years. A slow replay of a long recording can exceed it.
func duration(nanoseconds float64) time.Duration {
	return time.Duration(max(0, min(nanoseconds, 1<<62)))
}
