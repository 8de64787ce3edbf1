package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// longest returns the longest time between two heartbeats so far. It returns 0 if kubeflap could not measure this time.
// It also considers silences, because the tracker may not know the interval at the end of a silence.
func (r *Record) longest(now time.Time, gracePeriod time.Duration) time.Duration {
	known, unknown := max(r.Longest, r.Timeline.Lasting(incident.TrackHeartbeat, now)), time.Duration(0)
	for _, s := range r.Silences {
		switch length := s.Lasted(now); {
		case measured(s):
			known = max(known, length)
		case !s.EndedBlind || s.Blind:
			unknown = max(unknown, length)
		}
	}
	if known <= gracePeriod && known < unknown {
		return 0
	}
	return known
}

// measured reports whether kubeflap saw the start and the end of a silence.
func measured(s *verdict.Silence) bool { return !s.Blind && !s.Unseen && !s.EndedBlind }

// atLeast returns "at least " if an interval may be longer than the longest measured one, because kubeflap did not see
// its end.
func (r *Record) atLeast(longest time.Duration) string {
	if slices.ContainsFunc(r.Silences, func(s *verdict.Silence) bool {
		return s.EndedBlind && !s.Ended.IsZero() && s.Ended.Sub(s.Began) > longest
	}) {
		return "at least "
	}
	return ""
}

// unexplained returns the length of the longest silence without an explanation, such as a reboot. If no silence has an
// explanation, it returns the parameter longest.
func (r *Record) unexplained(longest time.Duration, now time.Time) time.Duration {
	if !slices.ContainsFunc(r.Silences, (*verdict.Silence).Explained) {
		return longest
	}
	longest = 0
	for _, s := range r.Silences {
		if !s.Explained() && measured(s) {
			longest = max(longest, s.Lasted(now))
		}
	}
	return longest
}
