package flightrecorder

import "time"

// steadyAfter is the time that the clock must run without a step forward before recordings are deleted by age. The
// clock may be wrong for a short time, for example before the first NTP synchronization.
const steadyAfter = time.Hour

// steady measures how long the clock has run without a step forward.
type steady struct {
	// wall is the time of the last call. running is the time since the start of the process by the monotonic clock,
	// which cannot be set. The field since is the value of running at the last step forward.
	wall           time.Time
	running, since time.Duration
}

// lasts reports whether the clock has been steady for steadyAfter.
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
	if !r.steady.lasts(now.Round(0), now.Sub(r.began)) { // Round removes the monotonic reading, which Sub uses
		return time.Time{}
	}
	return now.Add(-r.settings.Age)
}
