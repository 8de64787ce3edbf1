package nodes

import (
	"testing"
	"time"
)

func TestIntervalOfANodeFollowsItsLease(t *testing.T) {
	for seconds, want := range map[int32]time.Duration{40: 10 * time.Second, 20: 5 * time.Second, 80: 20 * time.Second, 0: 10 * time.Second, 1 << 30: time.Minute, 1: time.Second} {
		h := heartbeat{leaseSeconds: seconds}
		if got := h.interval(); got != want {
			t.Errorf("a Lease of %d s: %s, want %s", seconds, got, want)
		}
	}
}
