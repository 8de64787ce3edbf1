// Package reads has what direct reads of Leases have shown. A silent watch looks like silent nodes. Bookmarks do not tell them apart: they
// continue while etcd stalls, since they come from the API server's memory (apiserver, storage/cacher, dispatchEvents).
package reads

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// AskEvery is the shortest time between two direct reads.
	AskEvery = 10 * time.Second
	// unaskedWait is how long a late heartbeat waits if nobody ever reads Leases directly, as in older recordings.
	unaskedWait = time.Second
	// catchUpWithin is how soon the watch must show a renewal that a read has shown. The two are not ordered.
	catchUpWithin = 2 * time.Second
	// upToDateWithin is how long a watch may show old renewals. Then it is not late, but the clocks were set.
	upToDateWithin = 15 * time.Second
)

// Reads are the results of direct reads of Leases, and what the watch has shown. The zero value has none.
type Reads struct {
	// shown is when the watch last showed a heartbeat.
	shown time.Time
	// asked is when the last read began; asking: it is not answered yet. proven is when the last read began that was answered and had
	// nothing newer than the watch, and answered when that was answered.
	asked, proven, answered time.Time
	asking                  bool
	// failed is when the last read began that proved nothing; zero if the watch, or another read, has shown since what etcd has. resumed is when the watch first
	// showed a renewal after that.
	failed, resumed time.Time
	// ahead are the Leases of which a read has shown a newer renewal than the watch; aheadSince is when the first was read.
	ahead      map[string]time.Time
	aheadSince time.Time
}

// WatchShowed notes that the watch has shown a renewal that was made then, and so everything before. A read may have shown it earlier.
func (r *Reads) WatchShowed(made, seen time.Time, l *event.Lease) {
	if made.After(r.shown) {
		r.shown = made
	}
	if r.Doubtful() {
		r.noteResumed(made, seen)
	}
	if read, ok := r.ahead[l.Name]; ok && !l.Renew.Before(read) {
		delete(r.ahead, l.Name)
	}
}

// WatchShowedReport notes that the watch works where status reports are the heartbeats.
func (r *Reads) WatchShowedReport(t time.Time) { r.shown = t }

// WatchBroke notes that the watch is known to be behind, and nothing more must show that.
func (r *Reads) WatchBroke() { r.ahead, r.failed = nil, time.Time{} }

// Asked is when the last read began.
func (r *Reads) Asked() time.Time { return r.asked }

// Failed is when the last read began, if it proved nothing and the watch has shown nothing since; else it is zero.
func (r *Reads) Failed() time.Time { return r.failed }

// Doubtful reports whether that is so. Then it is not known whether nodes are silent or the watch is late.
func (r *Reads) Doubtful() bool { return !r.failed.IsZero() }

// noteResumed notes that the watch shows renewals after a read has failed. It is up to date when it shows one that is new.
func (r *Reads) noteResumed(made, seen time.Time) {
	if r.resumed.IsZero() {
		r.resumed = seen
	}
	if !made.Before(r.failed) && !IsLate(made, seen) || seen.Sub(r.resumed) > upToDateWithin {
		r.failed = time.Time{}
	}
}

// Ahead reports whether a read has shown a renewal that the watch has not.
func (r *Reads) Ahead() bool { return len(r.ahead) > 0 }

// Behind reports whether the watch has not shown for long what a read has.
func (r *Reads) Behind(t time.Time) bool { return r.Ahead() && t.Sub(r.aheadSince) > catchUpWithin }

// ProvenAfter reports whether a read that began at mark or later had nothing newer than the watch.
func (r *Reads) ProvenAfter(mark time.Time) bool { return !r.proven.Before(mark) }

// ShownAfter is when the watch showed a heartbeat, if that was at mark or later.
func (r *Reads) ShownAfter(mark time.Time) (at time.Time, ok bool) {
	return r.shown, !r.shown.Before(mark)
}

// ProvenAt is when it is proven that a node sent no heartbeat until mark, if nothing else is seen. Either the watch has shown other nodes'
// heartbeats since, or a read has shown no newer renewal. If the API server answers and cannot read from etcd, no node can have renewed.
func (r *Reads) ProvenAt(mark time.Time) (at time.Time, ok bool) {
	at = mark.Add(unaskedWait)
	switch {
	case r.Ahead():
		return time.Time{}, false // the watch is behind
	case !r.shown.Before(mark):
		return r.shown, true
	case !r.proven.Before(mark):
		return r.answered, true
	case r.asking:
		return r.asked.Add(AskEvery), true
	case !r.asked.IsZero() && at.Before(r.asked.Add(AskEvery+unaskedWait)):
		return r.asked.Add(AskEvery + unaskedWait), true // the next read is due before
	}
	return at, true
}

// NewerRenewal records that a read has shown a newer renewal than the watch.
func (r *Reads) NewerRenewal(t time.Time, l *event.Lease) {
	if r.ahead == nil {
		r.ahead = map[string]time.Time{}
	}
	if len(r.ahead) == 0 {
		r.aheadSince = t
	}
	r.ahead[l.Name] = l.Renew
}

// Apply handles the result of a direct read. servers is the number of API servers in the cluster, or 0 if it is not known.
func (r *Reads) Apply(e event.Event, servers int) {
	if e.Type == event.Asking {
		r.asked, r.asking = e.Seen, true
		return
	}
	r.asking = false
	switch {
	case e.Type == event.Unanswered || !saysOfNodes(e.Reason, servers):
		r.failed, r.resumed = r.asked, time.Time{}
	case len(r.ahead) == 0:
		r.proven, r.answered, r.failed = r.asked, e.Seen, time.Time{}
	}
}

// saysOfNodes reports whether an answer proves something about the nodes: all Leases were read, or the only API server cannot read from etcd, so nodes cannot have
// renewed either. Of several API servers, the others may reach etcd. An API server that throttles kubeflap, or a proxy that answers in its place, proves
// nothing. Without permission to read Leases it is as if nobody had asked.
func saysOfNodes(reason event.Reason, servers int) bool {
	switch reason {
	case "", event.ReasonForbidden:
		return true
	case event.ReasonThrottled, event.ReasonAbsent, event.ReasonUnauthorized, event.ReasonUnreadable, event.ReasonOther:
		return false
	}
	return servers < 2
}

// HidesEtcd reports whether it shows nothing of etcd how a read went: then the watches show nothing either. An API server that throttles
// kubeflap may still serve its watches.
func HidesEtcd(e event.Event) bool {
	return e.Type == event.Unanswered || e.Reason != "" && saysOfNodes(e.Reason, 0) && e.Reason != event.ReasonForbidden
}
