// Package poll waits for conditions, so that the lab does not rely on fixed delays.
package poll

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// interval is short enough to see a state that lasts a second.
const interval = 50 * time.Millisecond

// Until calls the function check repeatedly until check returns nil. After the timeout, Until returns the last error of
// check.
func Until(ctx context.Context, timeout time.Duration, what string, check func(context.Context) error) error {
	start := time.Now()
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, timeout, true, func(ctx context.Context) (bool, error) {
		err := check(ctx)
		// If the timeout canceled the check, keep the error of the previous check, which says what is missing.
		if last == nil || ctx.Err() == nil {
			last = err
		}
		return err == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waited %s for %s: %w", time.Since(start).Round(time.Millisecond), what, last)
	}
	return nil
}

// Sleep waits for d, or until the context ends. Use it for the duration of a fault. To wait for a state, use Until.
func Sleep(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
