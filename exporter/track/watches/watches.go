// Package watches has the state of the watch of each resource, and the time of
// the event stream. It reads no clock: time comes with events and questions.
package watches

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// tolerance is the longest break of a watch that counts as none. The API server ends a watch every 5 to 10 minutes
	// (client-go, Reflector), and it continues from the same resource version within milliseconds.
	tolerance = time.Second
	// catchUp is how long a watch that works again may take to deliver the events that it missed.
	catchUp = 2 * time.Second
	// LagWait is how long evidence is waited for if it must come from a watch that is known to lag.
	LagWait = 15 * time.Second
)

// Watches are the watches of a cluster.
type Watches struct {
	// begin is the time of the first event. now is that of the newest event or question: it never goes back.
	begin, now time.Time
	state      [event.NumKinds]state
	lags       lags
	// shown is when a watch last showed an object, whatever its resource. cutOff: some watches are cut off.
	shown  time.Time
	cutOff bool
}

// state is the state of one watch.
type state struct {
	// generation numbers the lists. An object that the newest list did not show is gone.
	generation uint32
	// synced: the first list is complete, since synchronised.
	synced       bool
	synchronised time.Time
	up           bool
	// cutOff: the watch is not broken, but the API server cannot read from etcd, so it shows nothing. Then up is false.
	cutOff bool
	// missing: the resource is absent or forbidden.
	missing bool
	// downSince is when the watch broke; zero while it works and before the first list.
	downSince time.Time
	// resumed is when it worked again, after its first list or a break. broke is when that break began.
	resumed, broke  time.Time
	blind           time.Duration
	reason          event.Reason
	lastEvent       time.Time
	events          [event.Bookmark + 1]uint64
	relists, errors uint64
}

// New makes watches that have seen nothing.
func New() *Watches { return &Watches{lags: newLags()} }

// Now is the time of the newest event or question.
func (w *Watches) Now() time.Time { return w.now }

// Pass lets time pass to t, if that is later.
func (w *Watches) Pass(t time.Time) {
	if t.After(w.now) {
		w.now = t
	}
}

// Moment and Time convert a time to and from its short form.
func (w *Watches) Moment(t time.Time) event.Moment { return event.MomentOf(t, w.begin) }

// Time is the time of a moment.
func (w *Watches) Time(m event.Moment) time.Time { return m.Time(w.begin) }

// Count takes note of an event, before it is applied.
func (w *Watches) Count(e event.Event) {
	if w.begin.IsZero() {
		w.begin = e.Seen
	}
	if s := &w.state[e.Kind]; e.Type <= event.Bookmark {
		s.events[e.Type]++
		s.lastEvent = e.Seen
	}
	if e.Object != nil && e.Type <= event.Deleted {
		if e.Kind != event.KindCluster { // its version is no object in etcd
			w.shown = e.Seen
		}
		w.lags.note(e.Kind, e.Object.Metadata().Version, e.Seen)
	}
}

// Listing records that a list begins.
func (w *Watches) Listing(k event.Kind) { w.state[k].generation++ }

// Synced records that a list is complete.
func (w *Watches) Synced(e event.Event) {
	s := &w.state[e.Kind]
	if s.synced {
		s.relists++
	} else {
		s.synchronised = e.Seen
	}
	s.synced, s.missing, s.lastEvent = true, false, e.Seen
}

// Unavailable records that the resource cannot be watched.
func (w *Watches) Unavailable(e event.Event) {
	s := &w.state[e.Kind]
	s.missing, s.up, s.reason = true, false, e.Reason
}

// Broke records that a watch broke, and reports whether it worked until then.
func (w *Watches) Broke(e event.Event) bool {
	s := &w.state[e.Kind]
	if e.Reason != event.ReasonEnded {
		s.errors++
	}
	if !s.up && !s.missing {
		s.reason = e.Reason // why it is still down
	}
	if !s.up {
		s.cutOff = s.cutOff && e.Reason == event.ReasonEnded
		return false
	}
	s.up, s.reason, s.downSince = false, e.Reason, s.lastSign(e)
	return true
}

// Works records that a watch works. It returns how long the watch was broken, or 0 if that does not count as a break.
func (w *Watches) Works(e event.Event) (blind time.Duration) {
	s := &w.state[e.Kind]
	if s.up || s.cutOff && e.Type == event.Up {
		return 0 // a watch that is opened again shows no more than the one before
	}
	s.up, s.cutOff, s.reason = true, false, ""
	if s.downSince.IsZero() {
		s.resumed = e.Seen
		return 0
	}
	broke, gap := s.downSince, e.Seen.Sub(s.downSince)
	s.downSince = time.Time{}
	if gap < tolerance {
		return 0
	}
	s.blind += gap
	s.resumed, s.broke = e.Seen, broke
	return gap
}

// lastSign is when the watch last gave a sign of life before it broke. A dead connection
// that nobody closed is noticed only after tens of seconds (client-go pings after 30 s and waits 15 s): the watch was blind all that time.
func (s *state) lastSign(e event.Event) time.Time {
	switch {
	case e.Reason == event.ReasonSilent:
		return s.lastLife()
	case (e.Reason == event.ReasonConnectionLost || e.Reason == event.ReasonTimeout) && s.lastEvent.After(s.resumed):
		return s.lastEvent
	}
	return e.Seen
}

func (s *state) lastLife() time.Time {
	if s.lastEvent.After(s.resumed) {
		return s.lastEvent
	}
	return s.resumed
}

// First reports whether e is part of the first list of its resource: that is the baseline and no change.
func (w *Watches) First(e event.Event) bool { return e.Type == event.Listed && !w.state[e.Kind].synced }

// Relisting reports whether e is part of a list of its resource that is not the first.
func (w *Watches) Relisting(e event.Event) bool {
	return w.state[e.Kind].synced && (e.Type == event.Listed || e.Type == event.Synced)
}

// Generation is the number of the newest list.
func (w *Watches) Generation(k event.Kind) uint32 { return w.state[k].generation }

// IsSynced reports whether the first list of a resource is complete.
func (w *Watches) IsSynced(k event.Kind) bool { return w.state[k].synced }

// Synchronised is when the first list of a resource was complete.
func (w *Watches) Synchronised(k event.Kind) time.Time { return w.state[k].synchronised }

// Up reports whether the watch of a resource works.
func (w *Watches) Up(k event.Kind) bool { return w.state[k].up }

// Missing reports whether a resource cannot be watched.
func (w *Watches) Missing(k event.Kind) bool { return w.state[k].missing }

// Absent reports whether the cluster does not have a resource.
func (w *Watches) Absent(k event.Kind) bool {
	return w.state[k].missing && w.state[k].reason == event.ReasonAbsent
}

// DownSince is when the watch broke; zero while it works and before the first list.
func (w *Watches) DownSince(k event.Kind) time.Time { return w.state[k].downSince }

// Live reports whether events arrive when they happen. A watch that was broken first delivers
// all events that it missed, at once.
func (w *Watches) Live(k event.Kind, t time.Time) bool { return w.state[k].live(t) }

func (s *state) live(t time.Time) bool { return s.up && !t.Before(LiveFrom(s.resumed)) }

// LiveFrom is from when on a watch is live that works again since resumed.
func LiveFrom(resumed time.Time) time.Time { return resumed.Add(catchUp) }

// NotBefore is the earliest time at which the change that an event shows can have happened.
func (w *Watches) NotBefore(k event.Kind, seen time.Time) time.Time {
	s := &w.state[k]
	switch {
	case !s.downSince.IsZero():
		return s.downSince
	case s.live(seen) || s.broke.IsZero():
		return seen
	}
	return s.broke
}

// Lagging reports whether the watch of a resource is known to lag behind the others at t.
func (w *Watches) Lagging(k event.Kind, t time.Time) bool { return t.Before(w.lags.until[k]) }

// LaggingUntil is until when a watch is taken to lag; zero if it never did.
func (w *Watches) LaggingUntil(k event.Kind) time.Time { return w.lags.until[k] }
