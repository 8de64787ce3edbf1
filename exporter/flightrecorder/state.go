package flightrecorder

import (
	"iter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// events is a sequence of events that can be iterated more than once.
type events = iter.Seq2[event.Event, error]

// key identifies an object.
type key struct {
	kind event.Kind
	uid  event.UID
}

func keyOf(object event.Object) key {
	meta := object.Metadata()
	if meta.UID.IsZero() {
		return key{object.Kind(), event.ParseUID(meta.Namespace + "/" + meta.Name)}
	}
	return key{object.Kind(), meta.UID}
}

// summary locates the last state of all objects within a sequence of events.
type summary struct {
	// newest maps each object to the number of the event with its last state.
	newest map[key]int
	// kinds holds the state of each watch.
	kinds [event.NumKinds]watchState
	// events is the number of events read. next is the time of the first event after them, or zero if there is none.
	events int
	next   time.Time
}

// watchState is the state of a watch.
type watchState struct {
	// listing is the number of the event that began the current list, or 0. listed is set after a complete list.
	listing int
	listed  bool
	// down is the event that broke the watch, if the watch has not worked since then.
	down event.Event
}

// summarise reads the events before a time.
func summarise(all events, until time.Time) (*summary, error) {
	s := &summary{newest: map[key]int{}}
	for ev, err := range all {
		if err != nil {
			return nil, err
		}
		if !ev.Seen.Before(until) {
			s.next = ev.Seen
			break
		}
		s.events++
		s.note(ev)
	}
	return s, nil
}

func (s *summary) note(ev event.Event) {
	w := &s.kinds[ev.Kind]
	switch ev.Type {
	case event.Added, event.Modified, event.Listed, event.Read:
		s.newest[keyOf(ev.Object)] = s.events
	case event.Deleted:
		delete(s.newest, keyOf(ev.Object))
	case event.Listing:
		w.listing = s.events
	case event.Synced:
		s.dropUnlisted(ev.Kind, w.listing)
		*w = watchState{listed: true}
	case event.Down, event.Unavailable:
		w.down = ev
	case event.Up:
		w.down = event.Event{}
	}
}

// dropUnlisted removes the objects that are missing from a complete list.
func (s *summary) dropUnlisted(kind event.Kind, listing int) {
	for k, number := range s.newest {
		if k.kind == kind && number < listing {
			delete(s.newest, k)
		}
	}
}

// stateAt returns the state of all objects just before a time, as lists. It reads the events twice, and needs about 40
// bytes of memory per object.
func stateAt(all events, at time.Time) (events, error) {
	s, err := summarise(all, at)
	if err != nil {
		return nil, err
	}
	return s.state(all, at), nil
}

// state returns the state after the summarized events, as lists.
func (s *summary) state(all events, at time.Time) events { return s.replay(all, at, time.Time{}) }

// replay returns the state after the summarized events, as lists at a time, and then the events from that time on, up to
// another time. If that is zero, it only returns the state. It reads all events once.
func (s *summary) replay(all events, from, to time.Time) events {
	return func(yield func(event.Event, error) bool) {
		if !s.yieldBegin(from, yield) {
			return
		}
		number, complete := 0, false
		for ev, err := range all {
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			if number++; number <= s.events {
				if listed, newest := s.newestAs(ev, number, from); newest && !yield(listed, nil) {
					return
				}
				continue
			}
			if !complete && !s.yieldEnd(from, yield) || ev.Seen.After(to) {
				return
			}
			complete = true
			if !ev.Seen.Before(from) && !yield(ev, nil) {
				return
			}
		}
		if !complete {
			s.yieldEnd(from, yield)
		}
	}
}

// yieldBegin yields the begin of each list.
func (s *summary) yieldBegin(at time.Time, yield func(event.Event, error) bool) bool {
	for kind := range s.kinds {
		if s.kinds[kind].listed && !yield(event.Event{Seen: at, Kind: event.Kind(kind), Type: event.Listing}, nil) {
			return false
		}
	}
	return true
}

// yieldEnd yields the end of each list, and the state of broken watches.
func (s *summary) yieldEnd(at time.Time, yield func(event.Event, error) bool) bool {
	for kind := range s.kinds {
		if s.kinds[kind].listed && !yield(event.Event{Seen: at, Kind: event.Kind(kind), Type: event.Synced}, nil) {
			return false
		}
		down := s.kinds[kind].down
		if down.Kind != 0 && !yield(event.Event{Seen: at, Kind: down.Kind, Type: down.Type, Reason: down.Reason}, nil) {
			return false
		}
	}
	return true
}

// newestAs returns an event as part of a list, if it has the last state of its object. number is the number of the event.
func (s *summary) newestAs(ev event.Event, number int, at time.Time) (listed event.Event, ok bool) {
	if !ev.Type.HasObject() {
		return ev, false
	}
	if newest, known := s.newest[keyOf(ev.Object)]; !known || newest != number {
		return ev, false
	}
	what := event.Listed
	if ev.Kind == event.KindCluster {
		what = ev.Type // the cluster is never listed
	}
	return event.Event{Seen: at, Kind: ev.Kind, Type: what, Object: ev.Object}, true
}
