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
)

// Reads are the results of direct reads of Leases, and what the watch has shown. The zero value has none.
type Reads struct {
	// shown is when the watch last showed a heartbeat.
	shown time.Time
	// asked is when the last read began; asking: it is not answered yet. proven is when the last read began that was answered and had
	// nothing newer than the watch, and answered when that was answered.
	asked, proven, answered time.Time
	asking                  bool
	// ahead are the Leases of which a read has shown a newer renewal than the watch; aheadSince is when the first was read.
	ahead      map[string]time.Time
	aheadSince time.Time
}

// WatchShowed notes that the watch works, and that it has shown a renewal that a read had shown.
func (r *Reads) WatchShowed(t time.Time, l *event.Lease) {
	r.shown = t
	if read, ok := r.ahead[l.Name]; ok && !l.Renew.Before(read) {
		delete(r.ahead, l.Name)
	}
}

// WatchShowedReport notes that the watch works where status reports are the heartbeats.
func (r *Reads) WatchShowedReport(t time.Time) { r.shown = t }

// WatchBroke notes that the watch is known to be behind, and nothing more must show that.
func (r *Reads) WatchBroke() { r.ahead = nil }

// Asked is when the last read began.
func (r *Reads) Asked() time.Time { return r.asked }

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

// NewerRenewal takes in that a read has shown a newer renewal than the watch.
func (r *Reads) NewerRenewal(t time.Time, l *event.Lease) {
	if r.ahead == nil {
		r.ahead = map[string]time.Time{}
	}
	if len(r.ahead) == 0 {
		r.aheadSince = t
	}
	r.ahead[l.Name] = l.Renew
}

// Apply takes in how a direct read went.
func (r *Reads) Apply(e event.Event) {
	switch e.Type {
	case event.Asking:
		r.asked, r.asking = e.Seen, true
	case event.Answered:
		r.asking = false
		if len(r.ahead) == 0 && saysOfNodes(e.Reason) {
			r.proven, r.answered = r.asked, e.Seen
		}
	case event.Unanswered:
		r.asking = false
	}
}

// saysOfNodes reports whether an answer proves something about the nodes: all Leases were read, or the API server cannot read from etcd, so nodes cannot have
// renewed either. An API server that throttles kubeflap, or a proxy that answers in its place, proves nothing. Without permission to read
// Leases it is as if nobody had asked.
func saysOfNodes(reason event.Reason) bool {
	switch reason {
	case event.ReasonThrottled, event.ReasonAbsent, event.ReasonUnauthorized, event.ReasonUnreadable, event.ReasonOther:
		return false
	}
	return true
}
