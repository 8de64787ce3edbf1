package evidence

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// These constants limit the number of evidence entries and timeline spans of an incident. The first and the last ones
// are kept.
const (
	firstEntries, lastEntries = 12, 24
	firstSpans, lastSpans     = 24, 72
)

// Limit shortens the combined evidence of several incidents to the maximum length for one incident. It returns the kept
// entries and the number of dropped ones.
func Limit(all []incident.Evidence) (kept []incident.Evidence, dropped int) {
	return limit(all, firstEntries, lastEntries)
}

// LimitSpans shortens the combined timeline of several incidents to the maximum length for one incident. It returns the
// kept spans and the number of dropped ones. Of the spans in which kubeflap was not watching, it keeps the newest.
func LimitSpans(all []incident.Span) (kept []incident.Span, dropped int) {
	var blind, others []incident.Span
	for _, x := range all {
		if x.Track == incident.TrackBlind {
			blind = append(blind, x)
		} else {
			others = append(others, x)
		}
	}
	blind, before := limit(blind, 0, firstSpans)
	others, dropped = limit(others, firstSpans, lastSpans-len(blind))
	return append(others, blind...), dropped + before
}

func limit[T any](all []T, keepFirst, keepLast int) (kept []T, dropped int) {
	b := bounded[T]{keepFirst: keepFirst, keepLast: keepLast}
	for _, x := range all {
		b.add(x)
	}
	return b.all(), b.dropped
}

// bounded is a list that keeps the first and the last items that were added. It counts the items that it drops in
// between.
type bounded[T any] struct {
	first, last         []T
	keepFirst, keepLast int
	dropped             int
}

func (b *bounded[T]) add(x T) {
	if len(b.first) < b.keepFirst {
		b.first = append(b.first, x)
		return
	}
	if len(b.last) == b.keepLast {
		b.last = slices.Delete(b.last, 0, 1)
		b.dropped++
	}
	b.last = append(b.last, x)
}

func (b *bounded[T]) all() []T { return slices.Concat(b.first, b.last) }

// newest returns up to n of the newest items, newest first. If items were dropped, it omits the items before them.
func (b *bounded[T]) newest(n int) []T {
	all := b.last
	if b.dropped == 0 {
		all = b.all()
	}
	all = slices.Clone(all[max(0, len(all)-n):])
	slices.Reverse(all)
	return all
}
