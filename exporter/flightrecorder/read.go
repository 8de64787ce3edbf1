package flightrecorder

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// ErrNothing is returned if a directory contains no events of the requested period.
var ErrNothing = errors.New("nothing was recorded")

// Read returns the recorded events of a period. They begin with lists that contain the state of all objects at the
// start of the period. If the recording starts later, the lists contain the state at the start of the recording. Read
// reports the watches as down while no recorder was running. After a damaged or deleted segment, it reports them as
// down until the next lists. If there are later events, the last event is a bookmark at the end of the period. The iterator
// returns no errors.
//
// If the period starts with a segment (Segment.Begins), the events are exactly those of this segment and the following
// ones. Read can be called while a Recorder writes into the directory and deletes old segments.
func Read(dir string, from, to time.Time) (eventSeq, error) {
	all, err := Segments(dir)
	if err != nil {
		return nil, err
	}
	p := player{segments: inPeriod(all, from, to), from: from, to: to}
	slices.SortStableFunc(p.segments, func(a, b Segment) int { return a.Begins.Compare(b.Begins) })
	var damage error
	for len(p.segments) > 0 {
		p.first, err = stateAt(p.segments[0], from)
		if err == nil || errors.Is(err, recording.ErrCutShort) {
			break
		}
		damage = cmp.Or(damage, err)
		p.segments = p.segments[1:] // the state is unknown until the next segment
	}
	switch n := len(p.segments); {
	case n == 0 && damage != nil:
		return nil, damage
	case n == 0, n == 1 && (p.first.next.IsZero() || p.first.next.After(to)):
		until := "until " + to.UTC().Format(time.RFC3339)
		if !from.IsZero() {
			until = "from " + from.UTC().Format(time.RFC3339) + " " + until
		}
		return nil, fmt.Errorf("%w %s", ErrNothing, until)
	}
	return p.events, nil
}

// inPeriod returns the segments to read for a period, in the order of their creation. It begins with the last segment that
// may contain the start of the period. If the clock was set back, other segments may contain it, too.
func inPeriod(all []Segment, from, to time.Time) (some []Segment) {
	for i, s := range all {
		end := s.Begins.Add(SegmentAge)
		if i+1 < len(all) && all[i+1].Begins.After(s.Begins) && all[i+1].Begins.Before(end) {
			end = all[i+1].Begins
		}
		switch {
		case s.Begins.After(to), !end.After(from):
		case !s.Begins.After(from):
			some = []Segment{s}
		default:
			some = append(some, s)
		}
	}
	return some
}

// player yields the events of several segments, in the order of their beginnings. If the clock was set back, two segments
// can have the same time. The player then yields only the one that was recorded later, because the time must not go back.
type player struct {
	segments []Segment
	from, to time.Time
	// first is the state at the time from. It is computed from the first segment.
	first *state

	yield func(event.Event, error) bool
	// seen is the time of the last event, and watches is the state of the watches after it.
	seen    time.Time
	watches watches
	// number is the number of the previous segment, and whole is set if it was read to its end. A segment has no end if the
	// process that wrote it was killed or is still writing.
	number int
	whole  bool
	// later is set if there are events after the period.
	later bool
}

// events yields the events of all segments. After a damaged or deleted segment, the state of the objects is unknown until
// the next lists. During this time, it reports the watches as down.
func (p player) events(yield func(event.Event, error) bool) {
	p.yield = yield
	for i := range p.segments {
		if !p.play(i) {
			return
		}
	}
	if p.later {
		p.yield(event.Event{Seen: p.to, Kind: event.KindCluster, Type: event.Bookmark}, nil)
	}
}

// play yields the events of a segment. If it continues the previous one without a hole, play skips the lists at its
// beginning. Otherwise, it first reports the watches as down.
func (p *player) play(i int) bool {
	if p.seen.After(p.segments[i].Begins.Add(clockSlack)) {
		return true // the previous segment was recorded later
	}
	r, err := recording.Open(p.segments[i].path)
	if err != nil {
		p.whole = false
		return p.sendDown()
	}
	defer r.Close()
	skip, events := r.Header().State, r.Events()
	switch {
	case i == 0:
		skip, events = 0, p.first.events(r, p.from)
	case !p.whole, skip <= 0, p.segments[i].number != p.number+1:
		if skip = 0; !p.sendDown() {
			return false
		}
	}
	p.number, p.whole = p.segments[i].number, true
	until := p.until(i)
	for ev, err := range events {
		switch {
		case err != nil:
			p.whole = false
			return errors.Is(err, recording.ErrCutShort) || p.sendDown()
		case skip > 0:
			skip--
		case !until.IsZero() && ev.Seen.After(until):
			p.whole = false
			return true
		case !p.send(ev):
			return false
		}
	}
	return true
}

// until returns the time at which a segment that was recorded later begins, or zero.
func (p *player) until(i int) time.Time {
	for _, s := range p.segments[i+1:] {
		if s.number > p.segments[i].number {
			return s.Begins.Add(clockSlack)
		}
	}
	return time.Time{}
}

// send yields an event. It omits events after the period, but does not end the reading, because the clock may have been
// set back.
func (p *player) send(ev event.Event) bool {
	p.seen = ev.Seen
	p.watches.note(ev, 1)
	if ev.Seen.Before(p.from) { // the clock was set back a little
		ev.Seen = p.from
	}
	if ev.Seen.After(p.to) {
		p.later = true
		return true
	}
	return p.yield(ev, nil)
}

// sendDown yields a Down event for each watch that is not down.
func (p *player) sendDown() bool {
	for kind, w := range p.watches {
		ev := event.Event{Seen: p.seen, Kind: event.Kind(kind), Type: event.Down, Reason: event.ReasonNotRecorded}
		if w.known() && w.down.Type == 0 && !p.send(ev) {
			return false
		}
	}
	return true
}
