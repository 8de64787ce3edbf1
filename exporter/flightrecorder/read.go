package flightrecorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// ErrNothing is returned if a directory contains no events of the requested period.
var ErrNothing = errors.New("nothing was recorded in this period")

// Read returns the recorded events of a period. They begin with lists that contain the state of all objects at the
// start of the period. If the recording starts later, the lists contain the state at the start of the recording. Read
// reports the watches as down while no recorder was running. After a damaged or deleted segment, it reports them as
// down until the next lists. The iterator returns an error only if the context is canceled.
//
// Read can be called while a Recorder writes into the directory and deletes old segments.
func Read(ctx context.Context, dir string, from, to time.Time) (eventSeq, error) {
	all, err := segmentsIn(dir)
	if err != nil {
		return nil, err
	}
	p := player{ctx: ctx, segments: inPeriod(all, from, to), from: from}
	var damage error
	for len(p.segments) > 0 && p.first == nil {
		p.first, err = stateAt(p.segments[0], from)
		if err != nil && !errors.Is(err, recording.ErrCutShort) {
			damage = cmp.Or(damage, err)
			p.first, p.segments = nil, p.segments[1:] // the state is unknown until the next segment
		}
	}
	switch {
	case p.first == nil && damage != nil:
		return nil, damage
	case len(all) == 0:
		return nil, fmt.Errorf("%w: the directory has no recordings", ErrNothing)
	case p.first == nil || len(p.segments) == 1 && (p.first.next.IsZero() || p.first.next.After(to)):
		return nil, fmt.Errorf("%w: from %s to %s", ErrNothing, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
	}
	return func(yield func(event.Event, error) bool) {
		for ev, err := range p.events() {
			if ev.Seen.After(to) {
				continue // do not stop, because the clock may have been set back
			}
			if err == nil && ev.Seen.Before(from) {
				ev.Seen = from // the clock was set back a little
			}
			if !yield(ev, err) {
				return
			}
		}
	}, nil
}

// ReadFrom returns all events of a segment and of all later segments, in the order in which they were recorded. Like
// Read, it reports the watches as down where events are missing.
func ReadFrom(ctx context.Context, dir string, first Segment) (eventSeq, error) {
	all, err := segmentsIn(dir)
	if err != nil {
		return nil, err
	}
	p := player{ctx: ctx}
	for _, s := range all {
		if s.number >= first.number {
			p.segments = append(p.segments, s)
		}
	}
	return p.events(), nil
}

// inPeriod returns the segments to read for a period, sorted by time. This is usually the order of their creation. If the
// clock was set back, a later segment may repeat the time of an earlier one. inPeriod then leaves out the earlier one.
func inPeriod(all []Segment, from, to time.Time) (some []Segment) {
	var sorted []Segment
	for i, s := range all {
		repeats := func(later Segment) bool {
			return !s.Begins.Before(later.Begins) && s.Begins.Before(later.Begins.Add(segmentAge)) && !later.end().Before(s.Begins)
		}
		if !slices.ContainsFunc(all[i+1:], repeats) {
			sorted = append(sorted, s)
		}
	}
	slices.SortStableFunc(sorted, func(a, b Segment) int { return a.Begins.Compare(b.Begins) })
	for i, s := range sorted {
		ended := i+1 < len(sorted) && !sorted[i+1].Begins.After(from)
		if !ended && !s.Begins.After(to) {
			some = append(some, s)
		}
	}
	return some
}

// Span returns the start of the first segment in a directory, and the time of the last recorded event.
func Span(dir string) (begin, end time.Time, err error) {
	all, err := segmentsIn(dir)
	if err != nil {
		return begin, end, err
	}
	for _, s := range slices.Backward(all) {
		if end = s.end(); !end.IsZero() {
			return oldest(all), end, nil
		}
		_, headerErr := s.header()
		err = cmp.Or(err, headerErr)
	}
	return begin, end, cmp.Or(err, fmt.Errorf("%w: the directory has no recordings", ErrNothing))
}

// end returns the time of the last readable event of a segment. It is zero if there is none.
func (s Segment) end() (end time.Time) {
	for ev, err := range s.events() {
		if err == nil {
			end = ev.Seen
		}
	}
	return end
}
