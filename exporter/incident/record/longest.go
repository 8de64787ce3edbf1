package record

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

// longest returns the longest time between two heartbeats so far. It returns 0 if kubeflap could not measure this time.
// It also considers the lengths of silences, because the tracker cannot always measure the interval that contains a
// silence.
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

// measured reports whether the length of a silence is known. It is unknown if kubeflap's watch broke, or if kubeflap
// does not see heartbeats.
func measured(s *verdict.Silence) bool { return !s.Blind && !s.Unseen && !s.EndedBlind }

// atLeast returns "at least " if a silence may have lasted longer than `longest`, and kubeflap did not see the end of
// this silence.
func (r *Record) atLeast(longest time.Duration) string {
	if slices.ContainsFunc(r.Silences, func(s *verdict.Silence) bool {
		return s.EndedBlind && !s.Ended.IsZero() && s.Ended.Sub(s.Began) > longest
	}) {
		return "at least "
	}
	return ""
}

// unexplained returns the length of the longest silence that has no explanation. A reboot, for example, is an
// explanation. If no silence has an explanation, unexplained returns `longest`.
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
