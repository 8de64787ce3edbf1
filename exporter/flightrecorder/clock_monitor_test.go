package flightrecorder

import (
	"testing"
	"time"
)

// TestAStepOfTheClockDeletesNothing checks that recordings are deleted by age only if the clock was not set forward
// within the last hour. Each step has the minutes since the start and the minutes by which the clock is ahead.
func TestAStepOfTheClockDeletesNothing(t *testing.T) {
	noon := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var s clockMonitor
	for _, c := range []struct {
		running, ahead float64
		want           bool
	}{
		{0, 0, false},
		{59, 0, false},
		{60, 0, true},
		{61, 0.1, true},
		{70, 20 * 24 * 60, false},
		{75, 0, false},
		{129, 0, false},
		{130, 0, true},
		{140, -60, true},
		{150, 20 * 24 * 60, false},
		{209, 20 * 24 * 60, false},
		{210, 20 * 24 * 60, true},
	} {
		minutes := func(n float64) time.Duration { return time.Duration(n * float64(time.Minute)) }
		if got := s.isStable(noon.Add(minutes(c.running+c.ahead)), minutes(c.running)); got != c.want {
			t.Errorf("after %g minutes, %g minutes ahead: stable %t, want %t", c.running, c.ahead, got, c.want)
		}
	}
}
