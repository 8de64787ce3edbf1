package flightrecorder

import (
	"iter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// eventSeq is a sequence of events that can be iterated more than once.
type eventSeq = iter.Seq2[event.Event, error]

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

// summary describes the state of all objects after the events up to a position.
type summary struct {
	// newest is the position of the newest event of each existing object.
	newest map[key]int
	// kinds holds the state of each watch.
	kinds [event.NumKinds]watchState
	// last is the position of the last event in the summary. next is the time of the event after that, or zero if there
	// is none.
	last int
	next time.Time
	// lost is the result of lostUntil(last) when the events were read.
	lost int
}

type watchState struct {
	// listing is the position of the event that began the current list. It is 0 if no list is in progress. listed is
	// set after a complete list.
	listing int
	listed  bool
	// down is the Down or Unavailable event of a broken watch. It is empty while the watch works.
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
	case event.Added, event.Modified, event.Listed, event.DirectReadLease:
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

// stateAt returns the state of all objects at the end of a reading, in the form of lists. The parameter at specifies
// the time of all events in these lists. stateAt reads all events twice, and needs about 40 bytes of memory per object.
func stateAt(r *reading, at time.Time) (eventSeq, error) {
	s, err := summarise(r, afterAll)
	if err != nil {
		return nil, err
	}
	return s.replay(r, at, time.Time{}), nil
}

// replay returns lists with the summarized state, followed by the later events. The parameter from specifies the time
// of all events in the lists. The parameter to specifies the end of the later events. If it is zero, replay only
// returns the lists.
func (s *summary) replay(r *reading, from, to time.Time) eventSeq {
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

// yieldEnd yields the end of each list, and the state of broken watches. If a file was deleted after the events were
// summarized, objects are missing. yieldEnd then reports the watches as down instead.
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

// newestAs returns an event in the form that it has in a list. ok is true only for the newest event of an object that
// exists. If a list of the resource is unfinished, ok is false for objects that the list does not contain, because they
// may have been deleted.
func (s *summary) newestAs(ev placed, at time.Time) (listed event.Event, ok bool) {
	if !ev.Type.HasObject() {
		return ev.Event, false
	}
	if newest, known := s.newest[keyOf(ev.Object)]; !known || newest != ev.place || newest < s.kinds[ev.Kind].listing {
		return ev.Event, false
	}
	what := event.Listed
	if ev.Kind == event.KindCluster {
		what = ev.Type // KindCluster has no lists
	}
	return event.Event{Seen: at, Kind: ev.Kind, Type: what, Object: ev.Object}, true
}
