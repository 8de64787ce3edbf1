package flightrecorder

import (
	"context"
	"errors"
	"iter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// placed is an event with its position in a reading. Later events have higher positions. An event has the same position
// each time the files are read, even if other files were deleted.
type placed struct {
	event.Event
	place int
}

// The low partBits bits of a position count the events of a part. The high bits are the index of the part.
const partBits = 32

// reading is the sequence of the events in several files. After a damaged or deleted file, the state of the objects is
// unknown until the next base. During this time, the reading reports the watches as down.
type reading struct {
	ctx   context.Context
	parts []part
	// lost is the error of each part that could not be read completely, by the index of the part.
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

// events returns a sequence of all events. It can be iterated more than once. It yields an error only if the context is
// canceled.
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

// player reads the files of a reading once.
type player struct {
	*reading
	yield func(placed, error) bool
	place int
	// seen is the time of the last event that was yielded. working is set for each watch that worked at that time.
	seen    time.Time
	working [event.NumKinds]bool
	// hole is set when events are missing. It is cleared at the next base.
	hole bool
}

// play yields the events of a part. While events are missing, it skips all files up to the next base. Otherwise, it
// skips state files, because they repeat known objects.
func (p *player) play(i int) bool {
	f := p.parts[i]
	p.place = i << partBits
	if (f.role == roleStart || f.discontinuous) && !p.beginHole() {
		return false
	}
	if p.hole != f.isBase() {
		return true
	}
	p.hole = false
	for ev, err := range eventsIn(f.path) {
		switch {
		case err != nil && f.last && (errors.Is(err, recording.ErrCutShort) || errors.Is(err, recording.ErrEmpty)):
			return true // the process that wrote the file was killed, or is still writing
		case err != nil:
			p.lost[i] = err
			return p.beginHole()
		case !f.nextStart.IsZero() && ev.Seen.After(f.nextStart.Add(clockSlack)):
			return p.beginHole() // the clock was set back, and the next generation covers this time
		case !p.send(ev):
			return false
		}
	}
	return true
}

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

// beginHole sets hole. It yields a Down event for each watch that was working.
func (p *player) beginHole() bool {
	p.hole = true
	for kind, works := range p.working {
		if works && !p.send(event.Event{Seen: p.seen, Kind: event.Kind(kind), Type: event.Down, Reason: event.ReasonNotRecorded}) {
			return false
		}
	}
	return true
}

// eventsIn returns the events of a file. If the file cannot be read completely, the last item is an error.
func eventsIn(path string) eventSeq {
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
