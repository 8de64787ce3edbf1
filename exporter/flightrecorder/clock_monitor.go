package flightrecorder

import "time"

// After the process starts or the clock is set forward, the recorder waits for clockStableAfter before it deletes
// recordings by age. The clock can be wrong for a short time, for example before the first NTP synchronization.
const clockStableAfter = time.Hour

// clockMonitor measures the time since the clock was last set forward.
type clockMonitor struct {
	// wall and running are the arguments of the previous call of isStable. since is the value of running when the clock
	// was last set forward.
	wall           time.Time
	running, since time.Duration
}

// isStable reports whether at least clockStableAfter has passed since the process started and since the clock was last
// set forward. The parameter wall is the current time. The parameter running is the monotonic time since the process
// started.
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
