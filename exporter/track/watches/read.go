package watches

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Watch is the state of one resource's watch at the time of the query.
type Watch struct {
	Resource event.Kind
	// Events counts the events by type.
	Events [event.Bookmark + 1]uint64
	// Relists counts the lists after the first one. Errors counts the failed lists and watches.
	Relists, Errors uint64
	// Synced is set if the first list of this process is complete. Up is set if the watch currently works.
	Synced, Up bool
	// Unavailable is the reason why the resource cannot be watched, or empty.
	Unavailable event.Reason
	LastEvent   time.Time
	// Blind is the total time without a working watch.
	Blind time.Duration
	// Since is the time at which the watch stopped working, and Reason is the cause. Both fields are zero while the
	// watch works. Until the first list is complete, Since is the time of the first event of any resource.
	Since  time.Time
	Reason event.Reason
}

// unreadyAfter is the longest break of a watch during which kubeflap stays ready. Replacing an API server takes less
// time.
const unreadyAfter = time.Minute

// All appends the state of each resource's watch to the given slice and returns the extended slice.
func (w *Watches) All(into []Watch) []Watch {
	return w.matching(into, func(*state) bool { return true })
}

// Unwatched returns the watches that do not work, except those of resources that the cluster does not have. A watch
// does not work if it is broken, or if its resource is forbidden or not listed yet.
func (w *Watches) Unwatched() []Watch {
	return w.matching(nil, func(s *state) bool {
		absent := s.missing && s.reason == event.ReasonAbsent
		return !absent && (!s.synced || s.missing || s.brokenFor(w.now) > tolerance)
	})
}

// Unready returns the watches that prevent kubeflap from being ready. Either the resource is not listed yet, or the
// watch has been broken for longer than unreadyAfter. Resources that could never be watched do not count, because
// waiting does not help.
func (w *Watches) Unready() []Watch {
	return w.matching(nil, func(s *state) bool { return s.unlisted() || s.brokenFor(w.now) > unreadyAfter })
}

// AllSynced reports whether this process has listed every resource that can be watched.
func (w *Watches) AllSynced() bool { return len(w.matching(nil, (*state).unlisted)) == 0 }

// unlisted reports whether this process must still list the resource.
func (s *state) unlisted() bool { return !s.missing && (!s.synced || s.restarted) }

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
		Synced: !s.missing && !s.unlisted(), Up: s.up, LastEvent: s.lastEvent, Blind: s.blindAsOf(w.now), Since: s.brokenSince(),
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

// blindAsOf returns the total time without a working watch. It excludes breaks due to a restart. An ongoing break that is
// shorter than `tolerance` does not count. Otherwise, the total would decrease at the end of a short break.
func (s *state) blindAsOf(t time.Time) time.Duration {
	if s.downSince.IsZero() || t.Sub(s.downSince) < tolerance || s.restarted {
		return s.blind
	}
	return s.blind + t.Sub(s.downSince)
}

// brokenSince returns the time at which the watch stopped working, or zero. If the resource became unavailable without
// a break of the watch, brokenSince returns the time of the last sign of life.
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
