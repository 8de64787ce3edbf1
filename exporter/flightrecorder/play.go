package flightrecorder

import (
	"context"
	"errors"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// player yields the events of several segments.
type player struct {
	ctx      context.Context
	segments []Segment
	// first is the state with which the first segment begins, at the time from. It is nil if this segment is read from
	// its beginning.
	first *state
	from  time.Time

	yield func(event.Event, error) bool
	// seen is the time of the last event that was yielded. watches is the state of the watches at that time.
	seen    time.Time
	watches watches
	// whole is set if the previous segment was read to its end. A segment has no end if the process that wrote it was
	// killed or is still writing.
	whole bool
}

// events returns the events of all segments. After a damaged or deleted segment, the state of the objects is unknown until
// the next lists. During this time, it reports the watches as down. It yields an error only if the context is canceled.
func (p player) events() eventSeq {
	return func(yield func(event.Event, error) bool) {
		p := p
		p.yield = yield
		for i := range p.segments {
			if !p.play(i) {
				return
			}
		}
	}
}

// play yields the events of a segment. If it continues the previous one without a hole, play skips the lists at its
// beginning. Otherwise, it first reports the watches as down.
func (p *player) play(i int) bool {
	header, err := p.segments[i].header()
	if err != nil {
		p.whole = false
		return p.sendDown()
	}
	skip, events := header.State, p.segments[i].events()
	switch {
	case i == 0 && p.first != nil:
		skip, events = 0, p.first.events(p.from)
	case i == 0, !p.whole, skip <= 0, p.segments[i].number != p.segments[i-1].number+1:
		if skip = 0; !p.sendDown() {
			return false
		}
	}
	p.whole = true
	for ev, err := range events {
		switch {
		case errors.Is(err, recording.ErrCutShort):
			p.whole = false
			return true
		case err != nil:
			p.whole = false
			return p.sendDown()
		case skip > 0:
			skip--
		case !p.send(ev):
			return false
		}
	}
	return true
}

func (p *player) send(ev event.Event) bool {
	if p.ctx.Err() != nil {
		p.yield(event.Event{}, context.Cause(p.ctx))
		return false
	}
	p.seen = ev.Seen
	p.watches.note(ev, 1)
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
