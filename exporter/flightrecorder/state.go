package flightrecorder

import (
	"iter"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// eventSeq is a sequence of events that can be iterated more than once.
type eventSeq = iter.Seq2[event.Event, error]

// watchState is the state of the watch of a resource.
type watchState struct {
	// began is set after the beginning of the first list, and listed after the first complete list. listing is the
	// position of the event that began the current list. It is 0 if no list is in progress.
	began, listed bool
	listing       int
	// down is the Down or Unavailable event of a broken watch. It is empty while the watch works.
	down event.Event
}

// works reports whether the watch delivers all changes after a complete list.
func (w *watchState) works() bool { return w.listed && w.listing == 0 && w.down.Type == 0 }

// known reports whether there was an event of the watch.
func (w *watchState) known() bool { return w.began || w.down.Type != 0 }

// watches is the state of all watches.
type watches [event.NumKinds]watchState

// note updates the state after the event at a position.
func (w *watches) note(ev event.Event, at int) {
	watch := &w[ev.Kind]
	switch ev.Type {
	case event.Listing:
		watch.began, watch.listing = true, at
	case event.Synced:
		*watch = watchState{began: true, listed: true}
	case event.Down, event.Unavailable:
		watch.down, watch.listing = ev, 0
	case event.Up:
		watch.down = event.Event{}
	}
}

// key identifies an object. The only object without a UID is the one of KindCluster.
type key struct {
	kind event.Kind
	uid  event.UID
}

func keyOf(object event.Object) key { return key{object.Kind(), object.Metadata().UID} }

// state describes the objects and the watches after the first events of a segment. It needs about 40 bytes of memory per
// object, because it holds the positions of the objects in the segment instead of the objects.
type state struct {
	segment Segment
	// newest is the position of the newest event of each existing object. The first event has the position 1.
	newest  map[key]int
	watches watches
	// length is the number of these events, and last is the time of the last one. next is the time of the event after
	// them, or zero if there is none.
	length     int
	last, next time.Time
}

// newState returns the state at the beginning of a segment.
func newState(segment Segment) *state { return &state{segment: segment, newest: map[key]int{}} }

// stateAt reads the events of a segment before a time. If the segment cannot be read completely, it returns the state
// before the error.
func stateAt(segment Segment, until time.Time) (*state, error) {
	s := newState(segment)
	r, err := recording.Open(segment.path)
	if err != nil {
		return s, err //nolint:wrapcheck // the error contains the path
	}
	defer r.Close()
	for ev, err := range r.Events() {
		if err != nil {
			return s, err
		}
		if !ev.Seen.Before(until) {
			s.next = ev.Seen
			break
		}
		s.note(ev)
	}
	return s, nil
}

// note adds the next event.
func (s *state) note(ev event.Event) {
	s.length, s.last = s.length+1, ev.Seen
	switch ev.Type {
	case event.Added, event.Modified, event.Listed, event.DirectReadLease:
		s.newest[keyOf(ev.Object)] = s.length
	case event.Deleted:
		delete(s.newest, keyOf(ev.Object))
	case event.Synced: // objects that are missing from the list were deleted
		for k, at := range s.newest {
			if k.kind == ev.Kind && at < s.watches[ev.Kind].listing {
				delete(s.newest, k)
			}
		}
	}
	s.watches.note(ev, s.length)
}

// isCurrent reports whether the event at a position shows the state of an existing object. An object that is missing from
// an unfinished list may have been deleted.
func (s *state) isCurrent(k key, at int) bool {
	return s.newest[k] == at && at >= s.watches[k.kind].listing
}

// size returns the number of events in the lists with the state.
func (s *state) size() int {
	begin, end := s.frame(time.Time{})
	size := len(begin) + len(end)
	for k, at := range s.newest {
		if s.isCurrent(k, at) {
			size++
		}
	}
	return size
}

// events returns the state as lists, followed by the later events of the segment, which r reads again from its beginning.
// The parameter seen specifies the time of all events in the lists.
func (s *state) events(r *recording.Reader, seen time.Time) eventSeq {
	return func(yield func(event.Event, error) bool) {
		begin, end := s.frame(seen)
		all := func(some []event.Event) bool {
			return !slices.ContainsFunc(some, func(ev event.Event) bool { return !yield(ev, nil) })
		}
		if !all(begin) {
			return
		}
		at := 0
		for ev, err := range r.Events() {
			at++
			if at > s.length || err != nil {
				if !yield(ev, err) || err != nil {
					return
				}
				continue
			}
			current := ev.Object != nil && s.isCurrent(keyOf(ev.Object), at)
			ev.Seen, ev.Reason = seen, ""
			if ev.Kind != event.KindCluster { // it has no lists
				ev.Type = event.Listed
			}
			if current && !yield(ev, nil) || at == s.length && !all(end) {
				return
			}
		}
		if at < s.length {
			yield(event.Event{}, recording.ErrCutShort)
		}
	}
}

// frame returns the events before and after the objects of the lists. An unfinished list has no end.
func (s *state) frame(seen time.Time) (begin, end []event.Event) {
	for kind, w := range s.watches {
		k := event.Kind(kind)
		if w.began {
			begin = append(begin, event.Event{Seen: seen, Kind: k, Type: event.Listing})
		}
		if w.listed && w.listing == 0 {
			end = append(end, event.Event{Seen: seen, Kind: k, Type: event.Synced})
		}
		if w.down.Type != 0 {
			end = append(end, event.Event{Seen: seen, Kind: k, Type: w.down.Type, Reason: w.down.Reason})
		}
	}
	return begin, end
}
