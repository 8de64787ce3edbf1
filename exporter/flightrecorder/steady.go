package flightrecorder

import "time"

// The recorder deletes recordings by age only if the clock has not been set forward for steadyAfter. The clock can be
// wrong for a short time, for example before the first NTP synchronization.
const steadyAfter = time.Hour

// steady measures the time since the clock was last set forward.
type steady struct {
	// wall and running are the arguments of the previous call of lasts. since is the value of running when the clock
	// was last set forward.
	wall           time.Time
	running, since time.Duration
}

// lasts reports whether the clock has not been set forward for steadyAfter. wall is the current time. running is the
// monotonic time since the start of the process.
func (s *steady) lasts(wall time.Time, running time.Duration) bool {
	if step := wall.Sub(s.wall) - (running - s.running); !s.wall.IsZero() && step > clockSlack {
		s.since = running
	}
	s.wall, s.running = wall, running
	return running-s.since >= steadyAfter
}

// oldest returns the time of the oldest events to keep. It is zero while the clock cannot be trusted.
func (r *Recorder) oldest() time.Time {
	now := time.Now()
	if !r.steady.lasts(now.Round(0), now.Sub(r.began)) { // without Round, wall would contain a monotonic reading
		return time.Time{}
	}
	return now.Add(-r.settings.Age)
}
