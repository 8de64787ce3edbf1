package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// Timeline has the spans of an incident: the first 24 and the last 72.
type Timeline struct{ spans bounded[*Span] }

// NewTimeline makes an empty timeline.
func NewTimeline() Timeline { return Timeline{bounded[*Span]{keepFirst: 24, keepLast: 72}} }

// Span is an interval of the timeline. Its end is zero while it lasts.
type Span struct {
	track      incident.Track
	name       string
	start, end time.Time
}

// Begin adds a span that lasts.
func (l *Timeline) Begin(track incident.Track, name string, from time.Time) *Span {
	s := &Span{track: track, name: name, start: from}
	l.spans.add(s)
	return s
}

// End ends a span, if there is one. It returns nil, as no span lasts then.
func (s *Span) End(t time.Time) *Span {
	if s != nil {
		s.end = t
	}
	return nil
}

// Take adds the spans of another timeline.
func (l *Timeline) Take(from *Timeline) {
	for _, s := range from.spans.all() {
		l.spans.add(s)
	}
}

// LeftOut is how many spans are not kept.
func (l *Timeline) LeftOut() int { return l.spans.dropped }

// Lasting is how long the oldest span of a track lasts by t that has not ended; 0 if there is none.
func (l *Timeline) Lasting(track incident.Track, t time.Time) (longest time.Duration) {
	for _, s := range l.spans.all() {
		if s.track == track && s.end.IsZero() {
			longest = max(longest, t.Sub(s.start))
		}
	}
	return longest
}

// Spans are sorted by track and start. No span outlasts the incident, whose end is zero while it is running.
func (l *Timeline) Spans(end time.Time) []incident.Span {
	kept, tracks := l.spans.all(), incident.Tracks()
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
