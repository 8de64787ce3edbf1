package watches

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Watch is the state of the watch of one resource, as of the time of the question.
type Watch struct {
	Resource event.Kind
	// Events counts by type.
	Events [event.Bookmark + 1]uint64
	// Relists counts the lists after the first; Errors the failed lists and watches.
	Relists, Errors uint64
	// Synced: the first list is complete. Up: the watch works now.
	Synced, Up bool
	// Unavailable is why the resource cannot be watched; empty if it can.
	Unavailable event.Reason
	LastEvent   time.Time
	// Blind is the time without a working watch.
	Blind time.Duration
	// Since is when the watch stopped working, and Reason is why; zero while it works. Before the first list, Since is the
	// time of the first event.
	Since  time.Time
	Reason event.Reason
}

// unreadyAfter is how long the watch of a resource may be broken before kubeflap is not ready: replacing an API server
// takes less.
const unreadyAfter = time.Minute

// All appends the state of each resource's watch to into.
func (w *Watches) All(into []Watch) []Watch {
	return w.matching(into, func(*state) bool { return true })
}

// Unwatched are the watches that show nothing now although there is something: those of resources that are forbidden or still to be listed,
// and those that are broken. What the cluster does not have is not among them: without Leases, status reports are the heartbeats.
func (w *Watches) Unwatched() []Watch {
	return w.matching(nil, func(s *state) bool {
		absent := s.missing && s.reason == event.ReasonAbsent
		return !absent && (!s.synced || s.missing || s.brokenFor(w.now) > tolerance)
	})
}

// Unready are the watches that make kubeflap not ready: those of resources that are still to be listed, and those that
// have been broken for long. A resource that can never be watched is not among them, since waiting does not help.
func (w *Watches) Unready() []Watch {
	return w.matching(nil, func(s *state) bool { return !s.synced && !s.missing || s.brokenFor(w.now) > unreadyAfter })
}

// AllSynced reports whether every resource that can be watched has been listed.
func (w *Watches) AllSynced() bool {
	return len(w.matching(nil, func(s *state) bool { return !s.synced && !s.missing })) == 0
}

func (w *Watches) matching(into []Watch, match func(*state) bool) []Watch {
	for _, k := range event.Kinds() {
		if match(&w.state[k]) {
			into = append(into, w.read(k))
		}
	}
	return into
}

func (w *Watches) read(k event.Kind) Watch {
	s := &w.state[k]
	v := Watch{
		Resource: k, Events: s.events, Relists: s.relists, Errors: s.errors,
		Synced: s.synced && !s.missing, Up: s.up, LastEvent: s.lastEvent, Blind: s.blindAsOf(w.now), Since: s.brokenSince(),
	}
	if !s.synced {
		v.Since = w.begin
	}
	if !v.Since.IsZero() {
		v.Reason = s.reason
	}
	if s.missing {
		v.Unavailable, v.Reason = s.reason, s.reason
	}
	return v
}

// blindAsOf is the time without a working watch. A running break counts once it is longer than the tolerance, so the
// value never goes down.
func (s *state) blindAsOf(t time.Time) time.Duration {
	if s.downSince.IsZero() || t.Sub(s.downSince) < tolerance {
		return s.blind
	}
	return s.blind + t.Sub(s.downSince)
}

// brokenSince is when a watch stopped working; zero while it works. A watch that was refused without a break
// counts from its last sign of life.
func (s *state) brokenSince() time.Time {
	if !s.downSince.IsZero() || !s.synced || s.up {
		return s.downSince
	}
	return s.lastLife()
}

func (s *state) brokenFor(t time.Time) time.Duration {
	if since := s.brokenSince(); !since.IsZero() {
		return t.Sub(since)
	}
	return 0
}
