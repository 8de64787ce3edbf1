package watches

import (
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

func (w *Watches) read(k event.Kind) Watch {
	s := &w.states[k]
	v := Watch{
		Resource: k, Events: s.events, Relists: s.relists, Errors: s.errors,
		Synced: s.status != missing && !s.unlisted(), Up: s.status == working, LastEvent: s.lastEvent, Blind: w.blind(s), Expected: true,
	}
	if from, ok := w.ongoingGap(k); ok || s.unlisted() {
		v.Since, v.Reason = from, s.lastGap().latest
	}
	if s.status == missing {
		v.Unavailable, v.Expected = s.lastGap().latest, !w.Absent(k) && !w.mayBeForbidden(k)
	}
	return v
}

// mayBeForbidden reports whether kubeflap needs no permission for a resource. A kubeflap that watches a single namespace
// needs neither Nodes nor Leases. Any other lists the Nodes, or does not start.
func (w *Watches) mayBeForbidden(k event.Kind) bool {
	return (k == event.KindNode || k == event.KindLease) && !w.IsSynced(event.KindNode)
}

// Unready returns the watches that prevent kubeflap from being ready. Either the resource is not listed yet, or the
// watch has been broken for longer than unreadyAfter. Resources that could never be watched do not count, because
// waiting does not help.
func (w *Watches) Unready() (all []Watch) {
	for _, k := range event.Kinds() {
		s := &w.states[k]
		if from, ok := w.ongoingGap(k); s.unlisted() || s.synced() && ok && w.now.Sub(from) > unreadyAfter {
			all = append(all, w.read(k))
		}
	}
	return all
}

// AllSynced reports whether this process has listed every resource that can be watched.
func (w *Watches) AllSynced() bool {
	return !slices.ContainsFunc(event.Kinds(), func(k event.Kind) bool { return w.states[k].unlisted() })
}

// First reports whether e belongs to the first list of its resource. That list shows the initial state, not a change.
func (s *states) First(e event.Event) bool { return isListed(e) && !s.IsSynced(e.Kind) }

// Relisting reports whether e belongs to a later list of its resource.
func (s *states) Relisting(e event.Event) bool { return isListed(e) && s.IsSynced(e.Kind) }

func isListed(e event.Event) bool { return e.Type == event.Listed || e.IsInferred() }

// IsSynced reports whether the first list of a resource is complete.
func (s *states) IsSynced(k event.Kind) bool { return s[k].synced() }

// SyncedAt returns the time at which the first list of a resource was complete.
func (s *states) SyncedAt(k event.Kind) time.Time { return s[k].syncedAt }

// Up reports whether the watch of a resource works.
func (s *states) Up(k event.Kind) bool { return s[k].status == working }

// IsCutOff reports whether a resource's watch is open but delivers no objects, because the API server cannot read from
// etcd.
func (s *states) IsCutOff(k event.Kind) bool { return s[k].status == cutOff }

// AnyCutOff reports whether any watch is cut off.
func (w *Watches) AnyCutOff() bool { return w.cutOff }

// Missing reports whether a resource cannot be watched.
func (s *states) Missing(k event.Kind) bool { return s[k].status == missing }

// Absent reports whether a resource is absent from the cluster.
func (s *states) Absent(k event.Kind) bool {
	return s.Missing(k) && s[k].lastGap().latest == event.ReasonAbsent
}

// Watched reports whether the current state of a resource's objects is known. The resource was listed, and its watch
// works or has only just broken.
func (w *Watches) Watched(k event.Kind) bool {
	_, gap := w.ongoingGap(k)
	return w.IsSynced(k) && !w.Missing(k) && !gap && !w.cutOff
}

// BlindSince returns the time since which a listed resource has been without a working watch for longer than a time.
// Shorter breaks hide little. ok is false if the watch works, or if the break is still shorter.
func (w *Watches) BlindSince(k event.Kind, after time.Duration) (since time.Time, ok bool) {
	down := w.DownSince(k)
	if down.IsZero() {
		return time.Time{}, false
	}
	since = later(down.Add(after), w.states[k].lastGap().noticed) // time that was already counted is not taken back
	return since, !since.After(w.now)
}

// DownSince returns the time at which the watch broke. It is zero while the watch works and before the first list.
func (s *states) DownSince(k event.Kind) time.Time {
	if g := s[k].lastBreak(); g != nil && !s.Up(k) {
		return g.From
	}
	return time.Time{}
}

// Live reports whether events arrive without delay. A restored watch first delivers all missed events at once, and
// becomes live afterwards.
func (s *states) Live(k event.Kind, t time.Time) bool {
	return s.Up(k) && !t.Before(LiveFrom(s[k].resumed()))
}

// LiveFrom returns the time from which a watch is live if it was restored at `resumed`.
func LiveFrom(resumed time.Time) time.Time { return resumed.Add(catchUp) }

// NotBefore returns the earliest possible time of a change that kubeflap saw at `seen`.
func (s *states) NotBefore(k event.Kind, seen time.Time) time.Time {
	if g := s[k].lastBreak(); g != nil && !s.Live(k, seen) {
		return g.From
	}
	return seen
}

// LaggingUntil returns the time until which a watch is assumed to lag behind the others, or zero if it never lagged.
func (w *Watches) LaggingUntil(k event.Kind) time.Time { return w.lags.until[k] }
