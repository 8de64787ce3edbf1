package incident

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// These constants limit the number of evidence entries and timeline spans of an incident. The first and the last ones
// are kept.
const (
	firstEntries, lastEntries = 12, 24
	firstSpans, lastSpans     = 24, 72
)

// Span is an interval on the timeline. End is zero if the span is ongoing.
type Span struct {
	Track Track       `json:"lane"`
	Name  string      `json:"name"`
	Start time.Time   `json:"start"`
	End   phrase.Time `json:"end"`
	// Loss is the loss of the address if the span shows that it is not ready, until it ends. No incident shows it.
	Loss *transition.AddressLost `json:"-"`
}

// Track is the row of the timeline to which a Span belongs.
type Track string

// The tracks.
const (
	TrackHeartbeat Track = "heartbeat"
	TrackNode      Track = "node"
	TrackPod       Track = "pod"
	TrackConflict  Track = "conflict"
	TrackForeign   Track = "foreign"
	TrackAddress   Track = "address"
	TrackOutage    Track = "outage"
	// TrackBlind shows when a resource was not watched.
	TrackBlind Track = "blind"
)

// Tracks returns all tracks, ordered from causes to effects.
func Tracks() []Track {
	return []Track{TrackHeartbeat, TrackNode, TrackPod, TrackConflict, TrackForeign, TrackAddress, TrackOutage, TrackBlind}
}

// Timeline holds the first and the last spans of an incident's timeline.
type Timeline struct{ bounded[*Span] }

// Begin adds an ongoing span.
func (l *Timeline) Begin(track Track, name string, from time.Time) *Span {
	s := &Span{Track: track, Name: name, Start: from.UTC()}
	l.add(s)
	return s
}

// add adds a span. If there are too many, the oldest one of the track with the most is dropped, so that the addresses of many
// Services do not displace the few spans of their node.
func (l *Timeline) add(s *Span) {
	if len(l.last) == lastSpans {
		count := map[Track]int{}
		for _, x := range l.last {
			count[x.Track]++
		}
		oldest := slices.MaxFunc(l.last, func(a, b *Span) int { return cmp.Compare(count[a.Track], count[b.Track]) })
		l.last = slices.DeleteFunc(l.last, func(x *Span) bool { return x == oldest })
		l.dropped++
	}
	l.bounded.add(s, firstSpans, lastSpans)
}

// Close ends a span, unless s is nil. It always returns nil, so that the caller can write s = s.Close(t).
func (s *Span) Close(t time.Time) *Span {
	if s != nil {
		s.End.Time, s.Loss = t, nil
	}
	return nil
}

// described returns the spans, sorted by track and start. It truncates spans that end after `end`, unless `end` is zero.
func (l *Timeline) described(end time.Time) []Span {
	kept, tracks := l.all(), Tracks()
	slices.SortStableFunc(kept, func(a, b *Span) int {
		return cmp.Or(cmp.Compare(slices.Index(tracks, a.Track), slices.Index(tracks, b.Track)), a.Start.Compare(b.Start))
	})
	all := make([]Span, len(kept))
	for i, s := range kept {
		all[i] = Span{Track: s.Track, Name: s.Name, Start: s.Start, End: s.End}
		if x := &all[i]; !end.IsZero() && (x.End.IsZero() || x.End.Time.After(end)) {
			x.End.Time = Later(end, x.Start)
		}
	}
	return all
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// bounded is a list that keeps the first and the last items that were added. It counts the items that it drops in
// between.
type bounded[T any] struct {
	first, last []T
	dropped     int
}

func (b *bounded[T]) add(x T, keepFirst, keepLast int) {
	if len(b.first) < keepFirst {
		b.first = append(b.first, x)
		return
	}
	if len(b.last) == keepLast {
		b.last = slices.Delete(b.last, 0, 1)
		b.dropped++
	}
	b.last = append(b.last, x)
}

func (b *bounded[T]) all() []T { return slices.Concat(b.first, b.last) }

// newestFirst yields the items, the newest first.
func (b *bounded[T]) newestFirst(yield func(T) bool) {
	for _, some := range [...][]T{b.last, b.first} {
		for _, x := range slices.Backward(some) {
			if !yield(x) {
				return
			}
		}
	}
}
