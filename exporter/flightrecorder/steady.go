package flightrecorder

import "time"

// The recorder deletes recordings by age only if the clock has not been set forward for clockStableAfter. The clock can
// be wrong for a short time, for example before the first NTP synchronization.
const clockStableAfter = time.Hour

// clockMonitor measures the time since the clock was last set forward.
type clockMonitor struct {
	// wall and running are the arguments of the previous call of isStable. since is the value of running when the clock
	// was last set forward.
	wall           time.Time
	running, since time.Duration
}

// isStable reports whether the clock has not been set forward for clockStableAfter. wall is the current time. running
// is the monotonic time since the start of the process.
func (s *clockMonitor) isStable(wall time.Time, running time.Duration) bool {
	if step := wall.Sub(s.wall) - (running - s.running); !s.wall.IsZero() && step > clockSlack {
		s.since = running
	}
	s.wall, s.running = wall, running
	return running-s.since >= clockStableAfter
}

// retentionCutoff returns the time of the oldest events to keep. It is zero while the clock cannot be trusted.
func (r *Recorder) retentionCutoff() time.Time {
	now := time.Now()
	if !r.clock.isStable(now.Round(0), now.Sub(r.began)) { // without Round, wall would contain a monotonic reading
		return time.Time{}
	}
	return now.Add(-r.settings.Age)
}
