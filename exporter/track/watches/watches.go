// Package watches keeps the state of each resource's watch, and the current time. It does not read the system clock:
// events and queries supply the time.
package watches

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// `tolerance` is the shortest break of a watch that counts. Shorter breaks are normal: the API server ends a watch
	// every 5 to 10 minutes (see apiclient.WatchTimeout), and the watch continues from the same resource version within
	// milliseconds.
	tolerance = time.Second
	// catchUp is the longest time that a restored watch needs to deliver the events that it missed.
	catchUp = 2 * time.Second
	// LagWait is the longest wait for evidence from a watch that is known to lag.
	LagWait = 15 * time.Second
)

// Watches holds the state of all watches of a cluster.
type Watches struct {
	// Namespaced is set if only one namespace is watched.
	Namespaced bool
	eventClock
	states
	// coverage holds the gaps that have ended.
	coverage Coverage
	lags     lags
	// version is the resourceVersion of the current event's write, or 0 if it is unknown.
	version uint64
	// `shown` is the time of the last object from any watch. cutOff is set if any watch is cut off.
	shown  time.Time
	cutOff bool
}

// states holds the state of each watch.
type states [event.NumKinds]state

// state describes one watch.
type state struct {
	// syncedAt is the time at which the first list was complete. It is zero before.
	syncedAt time.Time
	up       bool
	// cutOff is set if the watch is open but delivers no objects, because the API server cannot read from etcd. In this
	// case, `up` is false.
	cutOff bool
	// restarted is set if the watch has not worked since kubeflap was restarted.
	restarted bool
	// `missing` is set if the resource is absent or forbidden.
	missing bool
	// downSince is the time at which the watch broke. It is zero while the watch works and before the first list.
	downSince time.Time
	// `noticed` is the time at which kubeflap noticed the last break.
	noticed time.Time
	// `resumed` is the time at which the watch last began to work, after its first list or a break. `broke` is the
	// start of the last break. Both ignore breaks shorter than `tolerance`.
	resumed, broke time.Time
	blind          time.Duration
	// `reason` is the latest failure.
	reason event.Reason
	// `gap` has the start and the reason of the ongoing gap. It is empty while the resource is watched.
	gap             Gap
	lastEvent       time.Time
	events          [event.Bookmark + 1]uint64
	relists, errors uint64
}

// New returns an empty Watches.
func New() *Watches { return &Watches{} }

// StartCounting sets the counters to zero at t.
func (w *Watches) StartCounting(t time.Time) {
	w.counting = t
	for k := range w.states {
		s := &w.states[k]
		s.blind, s.relists, s.errors, s.events = 0, 0, 0, [event.Bookmark + 1]uint64{}
	}
}

// Count records an event. Call it before the event is applied.
func (w *Watches) Count(e event.Event) {
	if s := &w.states[e.Kind]; e.Type <= event.Bookmark {
		s.events[e.Type]++
		s.lastEvent = e.Seen
	}
	w.version = 0
	if e.Object != nil && e.Type <= event.Deleted {
		if e.Kind != event.KindCluster { // the version of a cluster does not come from etcd
			w.shown = e.Seen
		}
		version := w.lags.note(e.Kind, e.Object.Metadata().ResourceVersion, e.Seen)
		if e.Type != event.Listed {
			w.version = version
		}
	}
}

func (s *state) synced() bool { return !s.syncedAt.IsZero() }

// Version returns the resourceVersion of the write that the current event shows. It returns 0 if the event does not show
// a single write, or if the version is unknown. The API server numbers all writes in the order in which they were made.
func (w *Watches) Version() uint64 { return w.version }

// RecordListStart records the start of a list.
func (w *Watches) RecordListStart(k event.Kind) {
	if s := &w.states[k]; !s.synced() && !s.missing {
		s.reason = "" // earlier attempts failed, but now the server answers
	}
}

// RecordListEnd records the end of a list.
func (w *Watches) RecordListEnd(e event.Event) {
	s := &w.states[e.Kind]
	switch {
	case !s.synced():
		s.syncedAt = e.Seen
	case !s.restarted:
		s.relists++
	}
	if w.Absent(e.Kind) {
		s.gap.From = e.Seen // there was nothing to watch before
	}
	s.missing, s.lastEvent = false, e.Seen
}

// RecordUnavailable records that the resource cannot be watched.
func (w *Watches) RecordUnavailable(e event.Event) {
	s := &w.states[e.Kind]
	if s.up {
		s.up, s.noticed = false, w.now
		w.beginGap(e.Kind, s.lastLife(), e.Reason)
	} else {
		w.explainGap(e.Kind, e.Reason, e.Reason == event.ReasonAbsent)
	}
	s.missing, s.reason = true, e.Reason
}

// RecordBreak records that a watch broke, and reports whether the watch worked until then.
func (w *Watches) RecordBreak(e event.Event) bool {
	s := &w.states[e.Kind]
	switch {
	case e.Reason == event.ReasonNotRunning && !s.synced():
		return false
	case e.Reason == event.ReasonNotRunning:
		s.restarted = true
	case e.Reason != event.ReasonEnded:
		s.errors++
	}
	if s.up {
		w.fail(e.Kind, s.lastSign(e), e.Reason)
		return true
	}
	if !s.missing {
		s.reason = e.Reason // the reason can change while the watch is down
	}
	s.cutOff = s.cutOff && e.Reason == event.ReasonEnded
	if !w.Absent(e.Kind) {
		w.explainGap(e.Kind, e.Reason, false)
	}
	return false
}

func (w *Watches) fail(k event.Kind, since time.Time, reason event.Reason) {
	s := &w.states[k]
	s.up, s.reason, s.downSince, s.noticed = false, reason, since, w.now
	w.beginGap(k, since, reason)
}

// RecordWorking records that a watch works. It returns the length of the break, or 0 for a negligible break.
func (w *Watches) RecordWorking(e event.Event) (blind time.Duration) {
	s := &w.states[e.Kind]
	if s.up || s.cutOff && e.Type == event.Up {
		return 0 // without etcd, a reopened watch delivers no objects
	}
	w.endGap(e.Kind)
	restarted := s.restarted
	s.up, s.cutOff, s.restarted, s.reason = true, false, false, ""
	if s.downSince.IsZero() {
		s.resumed = e.Seen
		return 0
	}
	broke, gap := s.downSince, e.Seen.Sub(s.downSince)
	s.downSince = time.Time{}
	if gap < tolerance {
		return 0
	}
	if !restarted {
		s.blind += gap
	}
	s.resumed, s.broke = e.Seen, broke
	return gap
}

// lastSign returns the time at which a broken watch last showed a sign of life. client-go notices a dead connection
// only after tens of seconds: it sends a ping after 30 s and waits 15 s for the answer. The watch was blind during that
// time.
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

// First reports whether e belongs to the first list of its resource. That list shows the initial state, not a change.
func (s *states) First(e event.Event) bool { return isListed(e) && !s[e.Kind].synced() }

// Relisting reports whether e belongs to a later list of its resource.
func (s *states) Relisting(e event.Event) bool { return isListed(e) && s[e.Kind].synced() }

func isListed(e event.Event) bool { return e.Type == event.Listed || e.IsInferred() }

// IsSynced reports whether the first list of a resource is complete.
func (s *states) IsSynced(k event.Kind) bool { return s[k].synced() }

// SyncedAt returns the time at which the first list of a resource was complete.
func (s *states) SyncedAt(k event.Kind) time.Time { return s[k].syncedAt }

// Up reports whether the watch of a resource works.
func (s *states) Up(k event.Kind) bool { return s[k].up }

// Missing reports whether a resource cannot be watched.
func (s *states) Missing(k event.Kind) bool { return s[k].missing }

// Absent reports whether a resource is absent from the cluster.
func (s *states) Absent(k event.Kind) bool {
	return s[k].missing && s[k].reason == event.ReasonAbsent
}

// BlindSince returns the time since which a listed resource has been without a working watch for longer than a time.
// Shorter breaks hide little. ok is false if the watch works, or if the break is still shorter.
func (w *Watches) BlindSince(k event.Kind, after time.Duration) (since time.Time, ok bool) {
	s := &w.states[k]
	since = cmp.Or(s.downSince, s.gap.From).Add(after)
	if s.noticed.After(since) { // the break was noticed late
		since = s.noticed
	}
	return since, s.synced() && !s.up && !since.After(w.now)
}

// DownSince returns the time at which the watch broke. It is zero while the watch works and before the first list.
func (s *states) DownSince(k event.Kind) time.Time { return s[k].downSince }

// Live reports whether events arrive without delay. A restored watch first delivers all missed events at once, and
// becomes live afterwards.
func (s *states) Live(k event.Kind, t time.Time) bool { return s[k].live(t) }

func (s *state) live(t time.Time) bool { return s.up && !t.Before(LiveFrom(s.resumed)) }

// LiveFrom returns the time from which a watch is live if it was restored at `resumed`.
func LiveFrom(resumed time.Time) time.Time { return resumed.Add(catchUp) }

// NotBefore returns the earliest possible time of a change that kubeflap saw at `seen`.
func (s *states) NotBefore(k event.Kind, seen time.Time) time.Time {
	is := &s[k]
	switch {
	case !is.downSince.IsZero():
		return is.downSince
	case is.live(seen) || is.broke.IsZero():
		return seen
	}
	return is.broke
}

// LaggingUntil returns the time until which a watch is assumed to lag behind the others, or zero if it never lagged.
func (w *Watches) LaggingUntil(k event.Kind) time.Time { return w.lags.until[k] }
