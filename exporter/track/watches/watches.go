// Package watches keeps the state of each resource's watch, and the current time. It does not read the system clock:
// events and queries supply the time.
package watches

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// catchUp is the longest time that a restored watch needs to deliver the events that it missed.
	catchUp = 2 * time.Second
	// LagWait is the longest wait for evidence from a watch that is known to lag.
	LagWait = 15 * time.Second
)

// Watches holds the state of all watches of a cluster.
type Watches struct {
	eventClock
	states
	// coverageSince is the start of the coverage if an earlier process watched, or if gaps were dropped.
	coverageSince time.Time
	lags          lags
	// version is the resourceVersion of the current event's write, or 0 if it is unknown.
	version uint64
	// `shown` is the time of the last object from any watch. cutOff is set if any watch is cut off.
	shown  time.Time
	cutOff bool
}

// states holds the state of each watch.
type states [event.NumKinds]watch

// watch is the state of one resource's watch.
type watch struct {
	status status
	// syncedAt is the time at which the first list was complete. It is zero before.
	syncedAt time.Time
	// gaps holds the periods without a working watch. Unless the watch works, the last one is ongoing.
	gaps []gap
	// blindDropped is the time of the gaps that were dropped.
	blindDropped    time.Duration
	lastEvent       time.Time
	events          [event.Bookmark + 1]uint64
	relists, errors uint64
}

type status uint8

const (
	// broken also means that the resource was not listed yet.
	broken status = iota
	working
	// cutOff means that the watch is open but delivers no objects, because the API server cannot read from etcd.
	cutOff
	// missing means that the resource is absent or forbidden.
	missing
)

// New returns an empty Watches.
func New() *Watches {
	w := &Watches{}
	for k := range w.states {
		w.states[k].gaps = []gap{{Gap: Gap{Reason: notListed}, latest: notListed}}
	}
	return w
}

// StartCounting sets the counters to zero at t.
func (w *Watches) StartCounting(t time.Time) {
	w.counting = t
	for k := range w.states {
		s := &w.states[k]
		s.blindDropped, s.relists, s.errors, s.events = 0, 0, 0, [event.Bookmark + 1]uint64{}
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

// Version returns the resourceVersion of the write that the current event shows. It returns 0 if the event does not show
// a single write, or if the version is unknown. The API server numbers all writes in the order in which they were made.
func (w *Watches) Version() uint64 { return w.version }

// RecordUnavailable records that the resource cannot be watched.
func (w *Watches) RecordUnavailable(e event.Event) {
	s := &w.states[e.Kind]
	if s.status == working {
		w.beginGap(s, s.lastLife(), e.Reason)
	} else if w.Absent(e.Kind) && !s.synced() {
		s.lastGap().Gap = Gap{From: e.Seen, Reason: e.Reason}
	}
	s.lastGap().explain(e.Reason)
	s.status = missing
}

// RecordBreak records that a watch broke, and reports whether the watch worked until then.
func (w *Watches) RecordBreak(e event.Event) (worked bool) {
	s, restarted := &w.states[e.Kind], e.Reason == event.ReasonNotRunning
	if !restarted && e.Reason != event.ReasonEnded {
		s.errors++
	}
	if worked = s.status == working; worked {
		w.beginGap(s, s.lastSign(e), e.Reason)
	}
	g := s.lastGap()
	g.restarted = g.restarted || restarted
	if s.status != missing && g.explain(e.Reason) {
		s.status = broken
	}
	return worked
}

// RecordWorking records that a watch works, because a list is complete or because the watch continues after a break. It
// returns the length of the break, or 0 for a negligible break.
func (w *Watches) RecordWorking(e event.Event) time.Duration {
	s := &w.states[e.Kind]
	first := !s.synced()
	if e.Type == event.Synced {
		s.lastEvent = e.Seen
		switch {
		case first:
			s.syncedAt = e.Seen
		case !s.unlisted():
			s.relists++
		}
	}
	if s.status == working || s.status == cutOff && e.Type == event.Up {
		return 0 // without etcd, a reopened watch delivers no objects
	}
	g := s.lastGap()
	if first && w.Absent(e.Kind) {
		g.From = e.Seen // there was nothing to watch before
	}
	g.To, s.status = e.Seen, working
	blind := g.To.Sub(g.From)
	if blind < tolerance {
		s.gaps = s.gaps[:len(s.gaps)-1]
	}
	if first || blind < tolerance {
		return 0
	}
	return blind
}

// CutOff records that the API server has not been able to read from etcd since `asked`. The watches stay open and can
// deliver bookmarks from memory, but no objects. They count as broken since the time of the last object. CutOff returns
// the resources whose watches worked before. It does nothing if a watch has delivered an object since `asked`.
func (w *Watches) CutOff(asked time.Time, reason event.Reason) (hidden []event.Kind) {
	if w.shown.After(asked) {
		return nil
	}
	for _, k := range event.Kinds() {
		if s := &w.states[k]; s.status == working {
			w.beginGap(s, later(w.shown, s.resumed()), reason)
			s.status, w.cutOff = cutOff, true
			hidden = append(hidden, k)
		}
	}
	return hidden
}

// RecordRestored records that a watch delivers objects again. It returns an Up event for each watch that was cut off.
func (w *Watches) RecordRestored(t time.Time) (all []event.Event) {
	w.cutOff = false
	for _, k := range event.Kinds() {
		if s := &w.states[k]; s.status == cutOff {
			s.status = broken
			all = append(all, event.Event{Seen: t, Kind: k, Type: event.Up})
		}
	}
	return all
}

// lastSign returns the time at which a broken watch last showed a sign of life. client-go notices a dead connection
// only after tens of seconds: it sends a ping after 30 s and waits 15 s for the answer. The watch was blind during that
// time.
func (s *watch) lastSign(e event.Event) time.Time {
	switch {
	case e.Reason == event.ReasonSilent:
		return s.lastLife()
	case (e.Reason == event.ReasonConnectionLost || e.Reason == event.ReasonTimeout) && s.lastEvent.After(s.resumed()):
		return s.lastEvent
	}
	return e.Seen
}

func (s *watch) lastLife() time.Time { return later(s.lastEvent, s.resumed()) }

// resumed returns when a working watch began to work, after its first list or a break.
func (s *watch) resumed() time.Time {
	if g := s.lastBreak(); g != nil {
		return g.To
	}
	return s.syncedAt
}

// lastBreak returns the last gap that began after the first list, or nil.
func (s *watch) lastBreak() *gap {
	if n := len(s.gaps); n > 0 && s.synced() && (s.lastGap().To.IsZero() || s.lastGap().To.After(s.syncedAt)) {
		return s.lastGap()
	}
	return nil
}

func (s *watch) lastGap() *gap { return &s.gaps[len(s.gaps)-1] }

func (s *watch) synced() bool { return !s.syncedAt.IsZero() }

// unlisted reports whether this process must still list the resource.
func (s *watch) unlisted() bool {
	return s.status == broken && (!s.synced() || s.lastGap().restarted)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}
