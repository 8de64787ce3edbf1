package flightrecorder

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// placed is an event with its position in a reading (place). Later events have higher positions. Each pass over the
// files gives an event the same position, even if other files have been deleted.
type placed struct {
	event.Event
	place int
}

// partBits is the number of low bits of a position. The low bits count the events of a part. The high bits are the
// index of the part.
const partBits = 32

// reading reads files as one sequence of events. If a file is damaged or was deleted, reading reports the watches as
// down until the next base. Until then, the state of the objects is unknown.
type reading struct {
	ctx   context.Context
	parts []part
	// lost holds an error for each part that a pass could not read completely.
	lost map[int]error
}

func newReading(ctx context.Context, parts []part) *reading {
	return &reading{ctx: ctx, parts: parts, lost: map[int]error{}}
}

// lostUntil returns the number of incomplete parts up to a position.
func (r *reading) lostUntil(place int) (n int) {
	for i := range r.lost {
		if i <= place>>partBits {
			n++
		}
	}
	return n
}

// failure returns the error of the first incomplete part, or nil.
func (r *reading) failure() error {
	for i := range r.parts {
		if err := r.lost[i]; err != nil {
			return err
		}
	}
	return nil
}

// events returns a sequence of all events, which can be iterated more than once. It only yields an error if the context
// ends.
func (r *reading) events() iter.Seq2[placed, error] {
	return func(yield func(placed, error) bool) {
		p := player{reading: r, yield: yield, hole: true}
		for i := range r.parts {
			if !p.play(i) {
				return
			}
		}
	}
}

// player is one pass of a reading.
type player struct {
	*reading
	yield func(placed, error) bool
	place int
	// seen is the time of the last event. working is set for the watches that worked at that time.
	seen    time.Time
	working [event.NumKinds]bool
	// hole is set from the first missing event until the next base.
	hole bool
}

// play yields the events of a part. It skips a state file if no events are missing, because the file repeats known
// objects.
func (p *player) play(i int) bool {
	f := p.parts[i]
	p.place = i << partBits
	if (f.role == roleStart || f.apart) && !p.interrupt() {
		return false
	}
	if p.hole != f.isBase() {
		return true // after a missing event, only a base can be read; otherwise, a base repeats known objects
	}
	p.hole = false
	for ev, err := range eventsIn(f.path) {
		switch {
		case err != nil && f.last && (errors.Is(err, recording.ErrCutShort) || errors.Is(err, recording.ErrEmpty)):
			return true // the process that wrote the file was killed, or is still writing
		case err != nil:
			p.lost[i] = err
			return p.interrupt()
		case !f.until.IsZero() && ev.Seen.After(f.until.Add(clockSlack)):
			return p.interrupt() // the clock was set back; the next generation recorded this time again
		case !p.send(ev):
			return false
		}
	}
	return true
}

// send yields an event.
func (p *player) send(ev event.Event) bool {
	if p.ctx.Err() != nil {
		p.yield(placed{}, context.Cause(p.ctx))
		return false
	}
	p.place++
	p.seen = ev.Seen
	switch ev.Type {
	case event.Synced, event.Up:
		p.working[ev.Kind] = true
	case event.Down, event.Unavailable:
		p.working[ev.Kind] = false
	}
	return p.yield(placed{ev, p.place}, nil)
}

// interrupt records that events are missing. It yields a Down event for each watch that was working.
func (p *player) interrupt() bool {
	p.hole = true
	for kind, works := range p.working {
		if works && !p.send(event.Event{Seen: p.seen, Kind: event.Kind(kind), Type: event.Down, Reason: event.ReasonNotRecorded}) {
			return false
		}
	}
	return true
}

// eventsIn returns the events of a file. If the file cannot be read completely, the last item is an error.
func eventsIn(path string) events {
	return func(yield func(event.Event, error) bool) {
		r, err := recording.Open(path)
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		defer func() { _ = r.Close() }() // the file was only read
		for ev, err := range r.Events() {
			if !yield(ev, err) {
				return
			}
		}
	}
}
