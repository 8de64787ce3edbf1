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

// summary contains the positions at which a sequence of events holds the last state of each object.
type summary struct {
	// newest maps each object to the position of the event with its last state.
	newest map[key]int
	// kinds holds the state of each watch.
	kinds [event.NumKinds]watchState
	// last is the position of the last event that was read. next is the time of the event after it, or zero if there is
	// none.
	last int
	next time.Time
	// lost is the number of parts up to the position last that could not be read completely.
	lost int
}

// watchState is the state of a watch.
type watchState struct {
	// listing is the position of the event that began the current list. It is 0 if no list is in progress. listed is
	// set after a complete list.
	listing int
	listed  bool
	// down is the event that broke the watch. It is empty if the watch has worked since.
	down event.Event
}

// summarise reads the events before a time.
func summarise(r *reading, until time.Time) (*summary, error) {
	s := &summary{newest: map[key]int{}}
	for ev, err := range r.events() {
		if err != nil {
			return nil, err
		}
		if !ev.Seen.Before(until) {
			s.next = ev.Seen
			break
		}
		s.last = ev.place
		s.note(ev)
	}
	s.lost = r.lostUntil(s.last)
	return s, nil
}

func (s *summary) note(ev placed) {
	w := &s.kinds[ev.Kind]
	switch ev.Type {
	case event.Added, event.Modified, event.Listed, event.Read:
		s.newest[keyOf(ev.Object)] = ev.place
	case event.Deleted:
		delete(s.newest, keyOf(ev.Object))
	case event.Listing:
		w.listing = ev.place
	case event.Synced:
		s.dropUnlisted(ev.Kind, w.listing)
		*w = watchState{listed: true}
	case event.Down, event.Unavailable:
		w.down, w.listing = ev.Event, 0
	case event.Up:
		w.down = event.Event{}
	}
}

// dropUnlisted removes the objects that are missing from a complete list.
func (s *summary) dropUnlisted(kind event.Kind, listing int) {
	for k, place := range s.newest {
		if k.kind == kind && place < listing {
			delete(s.newest, k)
		}
	}
}

// afterAll is later than any event, because no recording contains events after 2199.
var afterAll = time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC)

// stateAt returns the state of all objects after the last event, as lists. The parameter at is the time of the events
// in these lists. stateAt reads all events twice, and needs about 40 bytes of memory per object.
func stateAt(r *reading, at time.Time) (events, error) {
	s, err := summarise(r, afterAll)
	if err != nil {
		return nil, err
	}
	return s.replay(r, at, time.Time{}), nil
}

// replay returns the state after the summarized events as lists, followed by the later events. The parameter from is
// the time of the events in the lists. The parameter to is the time at which the later events end. If it is zero,
// replay only returns the state.
func (s *summary) replay(r *reading, from, to time.Time) events {
	return func(yield func(event.Event, error) bool) {
		if !s.yieldBegin(from, yield) {
			return
		}
		complete := false
		for ev, err := range r.events() {
			if err != nil {
				yield(event.Event{}, err)
				return
			}
			if ev.place <= s.last {
				if listed, newest := s.newestAs(ev, from); newest && !yield(listed, nil) {
					return
				}
				continue
			}
			if !complete && !s.yieldEnd(r, from, yield) || ev.Seen.After(to.Add(clockSlack)) {
				return
			}
			complete = true
			if ev.Seen.Before(from) {
				ev.Seen = from // the clock was set back a little
			}
			if !ev.Seen.After(to) && !yield(ev.Event, nil) {
				return
			}
		}
		if !complete {
			s.yieldEnd(r, from, yield)
		}
	}
}

// yieldBegin yields the start of each list.
func (s *summary) yieldBegin(at time.Time, yield func(event.Event, error) bool) bool {
	for kind, w := range s.kinds {
		if (w.listed || w.listing > 0) && !yield(event.Event{Seen: at, Kind: event.Kind(kind), Type: event.Listing}, nil) {
			return false
		}
	}
	return true
}

// yieldEnd yields the end of each list, and the state of broken watches. If a file has been deleted in the meantime,
// yieldEnd does not end the lists, because objects are missing.
func (s *summary) yieldEnd(r *reading, at time.Time, yield func(event.Event, error) bool) bool {
	torn := r.lostUntil(s.last) > s.lost
	for kind, w := range s.kinds {
		k := event.Kind(kind)
		if torn {
			w.down = event.Event{Kind: k, Type: event.Down, Reason: event.ReasonNotRecorded}
		}
		if w.listed && w.listing == 0 && !torn && !yield(event.Event{Seen: at, Kind: k, Type: event.Synced}, nil) {
			return false
		}
		if (w.listed || !torn) && w.down.Kind != 0 && !yield(event.Event{Seen: at, Kind: k, Type: w.down.Type, Reason: w.down.Reason}, nil) {
			return false
		}
	}
	return true
}

// newestAs returns an event as part of a list, if the event has the last state of its object. If the last list is
// incomplete, newestAs only returns the objects of this list, because other objects may be gone. The later events then
// continue the list.
func (s *summary) newestAs(ev placed, at time.Time) (listed event.Event, ok bool) {
	if !ev.Type.HasObject() {
		return ev.Event, false
	}
	if newest, known := s.newest[keyOf(ev.Object)]; !known || newest != ev.place || newest < s.kinds[ev.Kind].listing {
		return ev.Event, false
	}
	what := event.Listed
	if ev.Kind == event.KindCluster {
		what = ev.Type // the cluster is never listed
	}
	return event.Event{Seen: at, Kind: ev.Kind, Type: what, Object: ev.Object}, true
}
