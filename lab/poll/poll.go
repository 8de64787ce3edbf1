// Package poll waits for conditions, so that nothing in the lab sleeps and hopes.
package poll

import (
	"context"
	"fmt"
	"time"
)

// interval is short enough to see a state that lasts a second.
const interval = 50 * time.Millisecond

// Until calls check until it returns nil. It gives up after the timeout and
// returns what check said last, because that is what the reader has to know.
func Until(ctx context.Context, timeout time.Duration, what string, check func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	start := time.Now()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	var last error
	for {
		err := check(ctx)
		if err == nil {
			return nil
		}
		// An error of being cut off says nothing about what was waited for.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waited %s for %s: %w", time.Since(start).Round(time.Millisecond), what, last)
		case <-tick.C:
		}
	}
}

// Sleep waits for d, or until the context ends. It is for the length of a
// fault; a state is waited for with Until.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
