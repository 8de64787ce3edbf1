package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// askEvery is the shortest time between two direct reads.
	askEvery = 10 * time.Second
	// unaskedWait is how long a late heartbeat waits if nobody ever reads Leases directly, as in older recordings.
	unaskedWait = time.Second
	// catchUpWithin is how soon the watch must show a renewal that a read has shown. The two are not ordered.
	catchUpWithin = 2 * time.Second
	// askAtOnce is how many Leases are read at a time.
	askAtOnce = 3
)

// leaseReads are the results of direct reads of Leases. A silent watch looks like silent nodes. Bookmarks do not tell them apart: they continue
// while etcd stalls, since they come from the API server's memory (apiserver, storage/cacher, dispatchEvents).
type leaseReads struct {
	// shown is when the watch last showed a Lease.
	shown time.Time
	// asked is when the last read began; asking: it is not answered yet. proven is when the last read began that was answered and had
	// nothing newer than the watch, and answered when that was answered.
	asked, proven, answered time.Time
	asking                  bool
	// ahead are the Leases of which a read has shown a newer renewal than the watch; aheadSince is when the first was read.
	ahead      map[string]time.Time
	aheadSince time.Time
}

// watchShowed notes that the watch works, and that it has shown a renewal that a read had shown.
func (r *leaseReads) watchShowed(t time.Time, l *event.Lease) {
	r.shown = t
	if read, ok := r.ahead[l.Name]; ok && !l.Renew.Before(read) {
		delete(r.ahead, l.Name)
	}
}

// showsLag reports whether an event of a Lease proves that the watch was behind: the node's own clock says that the renewal was in time,
// and it arrives late. As after a break, a heartbeat that could not be seen is then not late.
func (x *heartbeats) showsLag(n *node, e event.Event, l *event.Lease) bool {
	if len(x.reads.ahead) == 0 || n == nil || e.Type != event.Modified || n.heartbeat.renewed.IsZero() || n.heartbeat.last.IsZero() {
		return false
	}
	mark := x.period / 2
	if x.reads.proven.After(x.intervalStart(n).Add(mark)) {
		return false // a read has proven that it was late: etcd took a write that had waited
	}
	return l.Renew.Sub(n.heartbeat.renewed) <= mark && e.Seen.Sub(x.intervalStart(n)) > mark
}

// provenAt is when it is proven that a node sent no heartbeat until mark, if nothing else is seen. Reports cannot be read directly, so others must
// show that the watch works.
func (x *heartbeats) provenAt(mark time.Time) (at time.Time, ok bool) {
	if x.source() == event.KindNode {
		return x.reads.shown, !x.reads.shown.Before(mark)
	}
	return x.reads.provenAt(mark)
}

// provenAt is when it is proven that a node sent no heartbeat until mark, if nothing else is seen. Either the watch has shown other nodes'
// heartbeats since, or a read has shown no newer renewal. If the API server answers and cannot read from etcd, no node can have renewed.
func (r *leaseReads) provenAt(mark time.Time) (at time.Time, ok bool) {
	at = mark.Add(unaskedWait)
	switch {
	case len(r.ahead) > 0:
		return time.Time{}, false // the watch is behind
	case !r.shown.Before(mark):
		return r.shown, true
	case !r.proven.Before(mark):
		return r.answered, true
	case r.asking:
		return r.asked.Add(askEvery), true
	case !r.asked.IsZero() && at.Before(r.asked.Add(askEvery+unaskedWait)):
		return r.asked.Add(askEvery + unaskedWait), true // the next read is due before
	}
	return at, true
}

// leaseRead takes in a Lease that was read directly.
func (x *heartbeats) leaseRead(n *node, e event.Event, l *event.Lease) {
	r := &x.reads
	if n == nil || !n.hasLease || !l.Renew.After(n.heartbeat.shown) {
		return
	}
	if r.ahead == nil {
		r.ahead = map[string]time.Time{}
	}
	if len(r.ahead) == 0 {
		r.aheadSince = e.Seen
	}
	r.ahead[l.Name] = l.Renew
}

// ApplyRead takes in how a direct read of Leases went.
func (x *heartbeats) ApplyRead(e event.Event) {
	r := &x.reads
	switch e.Type {
	case event.Asking:
		r.asked, r.asking = e.Seen, true
	case event.Answered:
		r.asking = false
		if len(r.ahead) == 0 && saysOfNodes(e.Reason) {
			r.proven, r.answered = r.asked, e.Seen
		}
		if e.Reason == "" {
			x.overdue.answers(r.asked)
		}
		x.found.Add(transition.LeasesRead{At: at(e.Seen), Answered: true, Reason: e.Reason})
	case event.Unanswered:
		r.asking = false
		x.found.Add(transition.LeasesRead{At: at(e.Seen), Reason: e.Reason})
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

// askAfter is how long the watch of Leases must be silent, after a heartbeat became late, before some Leases are
// read directly. In a large cluster an event arrives every few milliseconds.
const askAfter = 500 * time.Millisecond

// LeasesToRead are the nodes whose Leases are to be read directly, none if there is no need to. There is if a heartbeat is late and
// either the node or the watch is silent, and if a node may be overdue and nothing shows that the API server answers.
func (x *heartbeats) LeasesToRead() []string {
	r, m, t := &x.reads, x.marks, x.watches.Now()
	switch {
	case x.blind(), len(r.ahead) > 0, t.Sub(r.asked) < askEvery:
		return nil
	case len(m) > 0 && t.Sub(m[0].at) >= askAfter:
		return x.longestSilent()
	case len(x.overdue.candidates) > 0 && t.Sub(x.overdue.answered) >= askEvery:
		return x.overdue.names()
	}
	return nil // nothing is late, or it has only just become late
}

// longestSilent are the nodes that have been silent for longest.
func (x *heartbeats) longestSilent() []string {
	marked := slices.Clone(x.marks)
	slices.SortFunc(marked, func(a, b mark) int { return a.at.Compare(b.at) })
	var names []string
	for _, m := range marked {
		if len(names) < askAtOnce && m.node.hasLease && !slices.Contains(names, m.node.name) {
			names = append(names, m.node.name)
		}
	}
	return names
}

// LeasesBehind reports whether the watch of Leases is to be opened again: it has not shown what a direct read has.
func (x *heartbeats) LeasesBehind() bool {
	r := &x.reads
	return len(r.ahead) > 0 && !x.blind() && x.watches.Now().Sub(r.aheadSince) > catchUpWithin
}
