package track

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// askAfter is for how long nothing may have come from the watch of Leases, when a heartbeat becomes late, before some are
	// read directly. In a large cluster one comes every few milliseconds.
	askAfter = 500 * time.Millisecond
	// askEvery is how often they are read at most.
	askEvery = 10 * time.Second
	// unaskedWait is how long a late heartbeat waits for a read where none is ever made, as in recordings that are older.
	unaskedWait = time.Second
	// catchUpWithin is how soon the watch must show what a read has shown: they are not ordered among each other.
	catchUpWithin = 2 * time.Second
	// askAtOnce is how many Leases are read.
	askAtOnce = 3
)

// leaseReads is what direct reads of Leases have shown. A watch that is open and silent looks like nodes that are: bookmarks go
// on while etcd stalls, and come from the API server's memory (apiserver, storage/cacher, dispatchEvents).
type leaseReads struct {
	// shown is when the watch last showed a Lease.
	shown time.Time
	// asked is when the last read began, asking: it is not answered yet; proven is the last one that was answered, and had
	// nothing that the watch had not shown.
	asked, proven time.Time
	asking        bool
	// ahead are the Leases that were read newer than the watch has shown them, aheadSince is when the first of them was.
	ahead      map[string]time.Time
	aheadSince time.Time
}

// watchShowed notes that the watch goes on, and has shown what a read had shown.
func (r *leaseReads) watchShowed(t time.Time, l *event.Lease) {
	r.shown = t
	if read, ok := r.ahead[l.Name]; ok && !l.Renew.Before(read) {
		delete(r.ahead, l.Name)
	}
}

// showsLag reports whether a Lease shows that the watch was behind, as a read has said: by the node's own clock it was renewed in time, and it is
// seen when that is over. As after a break nothing is late before it could have been seen.
func (f *Fold) showsLag(e event.Event, l *event.Lease) bool {
	n := f.nodes[l.Name]
	if len(f.beats.reads.ahead) == 0 || n == nil || e.Type != event.Modified || n.heartbeat.renewed.IsZero() || n.heartbeat.last.IsZero() {
		return false
	}
	mark := f.beats.grace / 2
	return l.Renew.Sub(n.heartbeat.renewed) <= mark && e.Seen.Sub(f.intervalStart(n)) > mark
}

// prove reports whether it is known by t that a heartbeat that was not seen until mark did not come: the watch has shown others since, or a
// read has shown no newer one. If the API server answers and cannot read, no node can have renewed.
func (r *leaseReads) prove(mark, t time.Time) bool {
	switch {
	case len(r.ahead) > 0:
		return false // the watch is behind
	case !r.shown.Before(mark), !r.proven.Before(mark):
		return true
	case r.asking:
		return t.Sub(r.asked) > askEvery
	case !r.asked.IsZero() && t.Sub(r.asked) <= askEvery+unaskedWait:
		return false // the next read is due
	}
	return t.Sub(mark) > unaskedWait
}

// leaseRead folds a Lease that was read directly.
func (f *Fold) leaseRead(e event.Event, l *event.Lease) {
	r, n := &f.beats.reads, f.nodes[l.Name]
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

// applyRead folds how a read went.
func (f *Fold) applyRead(e event.Event) {
	r := &f.beats.reads
	switch e.Type {
	case event.Asking:
		r.asked, r.asking = e.Seen, true
	case event.Answered:
		r.asking = false
		if len(r.ahead) == 0 && saysOfNodes(e.Reason) {
			r.proven = r.asked
		}
	case event.Unanswered:
		r.asking = false
	}
}

// saysOfNodes reports whether an answer says something of the nodes: all Leases were read, or the API server cannot read what nodes would
// have written. One that is too busy for kubeflap, or something else that answers in its place, says nothing. Where Leases may not be
// read it is as if nobody had asked.
func saysOfNodes(reason event.Reason) bool {
	switch reason {
	case event.ReasonThrottled, event.ReasonAbsent, event.ReasonUnauthorized, event.ReasonUnreadable, event.ReasonOther:
		return false
	}
	return true
}

// LeasesToRead are the nodes whose Leases are to be read directly as of t, none if there is no need to: a heartbeat is late, and
// whether the node or the watch is silent is not known.
func (f *Fold) LeasesToRead(t time.Time) []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	t = f.asOf(t)
	r, m := &f.beats.reads, f.beats.marks
	switch {
	case f.blindToHeartbeats(), len(m) == 0, t.Sub(m[0].at) < askAfter:
		return nil // nothing is late, or it has just become so
	case len(r.ahead) > 0, t.Sub(r.asked) < askEvery:
		return nil
	}
	return f.leasesToRead()
}

// leasesToRead are those that have been silent for longest, which are due first.
func (f *Fold) leasesToRead() []string {
	marked := slices.Clone(f.beats.marks)
	slices.SortFunc(marked, func(a, b mark) int { return a.at.Compare(b.at) })
	var names []string
	for _, m := range marked {
		if len(names) < askAtOnce && m.node.hasLease && !slices.Contains(names, m.node.name) {
			names = append(names, m.node.name)
		}
	}
	return names
}

// LeasesBehind reports whether, as of t, the watch of Leases is to be opened anew: it has not shown what a read has.
func (f *Fold) LeasesBehind(t time.Time) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	t = f.asOf(t)
	r := &f.beats.reads
	return len(r.ahead) > 0 && !f.blindToHeartbeats() && t.Sub(r.aheadSince) > catchUpWithin
}
