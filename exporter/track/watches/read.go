package watches

import (
	"cmp"
	"slices"
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
	// Expected is set if the resource must be watched: it is not absent, and the permission is not optional.
	Expected  bool
	LastEvent time.Time
	// Blind is the total time without a working watch.
	Blind time.Duration
	// Since is the start of the ongoing gap, and Reason is the latest failure. Both fields are zero without a gap.
	Since  time.Time
	Reason event.Reason
}

// unreadyAfter is the longest break of a watch during which kubeflap stays ready. Replacing an API server takes less
// time.
const unreadyAfter = time.Minute

// All appends the state of each resource's watch to the given slice and returns the extended slice.
func (w *Watches) All(into []Watch) []Watch {
	for _, k := range event.Kinds() {
		into = append(into, w.read(k))
	}
	return into
}

// Unready returns the watches that prevent kubeflap from being ready. Either the resource is not listed yet, or the
// watch has been broken for longer than unreadyAfter. Resources that could never be watched do not count, because
// waiting does not help.
func (w *Watches) Unready() (all []Watch) {
	for _, k := range event.Kinds() {
		s := &w.states[k]
		if g, ok := w.ongoingGap(k); s.unlisted() || s.synced() && ok && w.now.Sub(g.From) > unreadyAfter {
			all = append(all, w.read(k))
		}
	}
	return all
}

// AllSynced reports whether this process has listed every resource that can be watched.
func (w *Watches) AllSynced() bool {
	return !slices.ContainsFunc(event.Kinds(), func(k event.Kind) bool { return w.states[k].unlisted() })
}

// unlisted reports whether this process must still list the resource.
func (s *state) unlisted() bool { return !s.missing && (!s.synced() || s.restarted) }

// Watched reports whether the current state of a resource's objects is known. The resource was listed, and its watch
// works or has only just broken.
func (w *Watches) Watched(k event.Kind) bool {
	s := &w.states[k]
	_, gap := w.ongoingGap(k)
	return s.synced() && !s.missing && !gap && !w.cutOff
}

func (w *Watches) read(k event.Kind) Watch {
	s := &w.states[k]
	v := Watch{
		Resource: k, Events: s.events, Relists: s.relists, Errors: s.errors,
		Synced: !s.missing && !s.unlisted(), Up: s.up, LastEvent: s.lastEvent, Blind: s.blindAsOf(w.now),
	}
	if g, ok := w.ongoingGap(k); ok || s.unlisted() {
		v.Since, v.Reason = g.From, cmp.Or(s.reason, notListed)
	}
	if v.Expected = true; s.missing {
		v.Unavailable = s.reason
		v.Expected = s.reason != event.ReasonAbsent && !w.mayBeForbidden(k)
	}
	return v
}

// mayBeForbidden reports whether kubeflap needs no permission for a resource. A kubeflap that watches a single namespace
// needs neither Nodes nor Leases. Any other lists the Nodes, or does not start, which shows it in a recording.
func (w *Watches) mayBeForbidden(k event.Kind) bool {
	return (k == event.KindNode || k == event.KindLease) && (w.Namespaced || !w.IsSynced(event.KindNode))
}

// blindAsOf returns the total time without a working watch. It excludes breaks due to a restart. An ongoing break that is
// shorter than `tolerance` does not count. Otherwise, the total would decrease at the end of a short break.
func (s *state) blindAsOf(t time.Time) time.Duration {
	if s.downSince.IsZero() || t.Sub(s.downSince) < tolerance || s.restarted {
		return s.blind
	}
	return s.blind + t.Sub(s.downSince)
}
