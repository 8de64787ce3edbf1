package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// These constants limit the number of evidence entries and timeline spans of an incident. The first and the last ones
// are kept.
const (
	firstEntries, lastEntries = 12, 24
	firstSpans, lastSpans     = 24, 72
)

// Timeline holds the first and the last spans of an incident's timeline.
type Timeline struct{ bounded[*Span] }

// Span is an interval on the timeline. Its end is zero if the span is ongoing.
type Span struct {
	track      incident.Track
	name       string
	start, end time.Time
}

// Begin adds an ongoing span.
func (l *Timeline) Begin(track incident.Track, name string, from time.Time) *Span {
	s := &Span{track: track, name: name, start: from}
	l.add(s, firstSpans, lastSpans)
	return s
}

// End ends a span, unless s is nil. It always returns nil, so that the caller can write s = s.End(t).
func (s *Span) End(t time.Time) *Span {
	if s != nil {
		s.end = t
	}
	return nil
}

func (l *Timeline) take(from *Timeline) {
	for _, s := range from.all() {
		l.add(s, firstSpans, lastSpans)
	}
}

// lasting returns how long the oldest ongoing span of a track had lasted at t. It returns 0 if there is no ongoing
// span.
func (l *Timeline) lasting(track incident.Track, t time.Time) (longest time.Duration) {
	for _, s := range l.all() {
		if s.track == track && s.end.IsZero() {
			longest = max(longest, t.Sub(s.start))
		}
	}
	return longest
}

// described returns the spans, sorted by track and start. It truncates spans that end after `end`, unless `end` is zero.
func (l *Timeline) described(end time.Time) []incident.Span {
	kept, tracks := l.all(), incident.Tracks()
	slices.SortStableFunc(kept, func(a, b *Span) int {
		return cmp.Or(cmp.Compare(slices.Index(tracks, a.track), slices.Index(tracks, b.track)), a.start.Compare(b.start))
	})
	all := make([]incident.Span, 0, len(kept))
	for _, s := range kept {
		x := incident.Span{Track: s.track, Name: s.name, Start: s.start, End: s.end}
		if !end.IsZero() && (x.End.IsZero() || x.End.After(end)) {
			x.End = end
			if end.Before(x.Start) {
				x.End = x.Start
			}
		}
		all = append(all, x)
	}
	return all
}
