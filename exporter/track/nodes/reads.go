package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// askAtOnce is how many Leases are read at a time.
const askAtOnce = 3

// showsLag reports whether an event of a Lease proves that the watch was behind: the node's own clock says that the renewal was in time,
// and it arrives late. As after a break, a heartbeat that could not be seen is then not late.
func (x *heartbeats) showsLag(n *node, e event.Event, l *event.Lease) bool {
	if !x.reads.Ahead() || x.reads.Doubtful() || n == nil || e.Type != event.Modified || n.heartbeat.renewed.IsZero() || n.heartbeat.last.IsZero() {
		return false
	}
	mark := x.period / 2
	if x.reads.ProvenAfter(x.intervalStart(n).Add(mark + 1)) {
		return false // a read has proven that it was late: etcd took a write that had waited
	}
	return l.Renew.Sub(n.heartbeat.renewed) <= mark && e.Seen.Sub(x.intervalStart(n)) > mark
}

// provenAt is when it is proven that a node sent no heartbeat until mark, if nothing else is seen. Reports cannot be read directly, so others must
// show that the watch works.
func (x *heartbeats) provenAt(mark time.Time) (at time.Time, ok bool) {
	if x.source() == event.KindNode {
		return x.reads.ShownAfter(mark)
	}
	return x.reads.ProvenAt(mark)
}

// leaseRead handles a Lease that was read directly.
func (x *heartbeats) leaseRead(n *node, e event.Event, l *event.Lease) {
	if n != nil && n.hasLease && l.Renew.After(n.heartbeat.shown) {
		x.reads.NewerRenewal(e.Seen, l)
	}
}

// ApplyRead handles the result of a direct read of Leases.
func (x *heartbeats) ApplyRead(e event.Event) {
	x.reads.Apply(e, x.overdue.controlPlane.Servers())
	if e.Type == event.Asking {
		return
	}
	if e.Type == event.Answered && e.Reason == "" {
		x.overdue.answers.Note(x.reads.Asked())
	}
	x.found.Add(transition.LeasesRead{At: at(e.Seen), Answered: e.Type == event.Answered, Reason: e.Reason})
}

// ReadFailed is when the last direct read began, if it proved nothing and the watch has shown nothing since; else it is zero.
func (x *heartbeats) ReadFailed() time.Time { return x.reads.Failed() }

// askAfter is how long the watch of Leases must be silent, after a heartbeat became late, before some Leases are
// read directly. In a large cluster an event arrives every few milliseconds.
const askAfter = 500 * time.Millisecond

// LeasesToRead are the nodes whose Leases are to be read directly, none if there is no need to. There is if a heartbeat is late and
// either the node or the watch is silent, and if a node may be overdue and nothing shows that the API server answers.
func (x *heartbeats) LeasesToRead() []string {
	m, t := x.marks, x.watches.Now()
	switch {
	case x.blind(), x.reads.Ahead(), t.Sub(x.reads.Asked()) < reads.AskEvery:
		return nil
	case len(m) > 0 && t.Sub(m[0].At) >= askAfter:
		return x.longestSilent()
	case len(x.overdue.candidates) > 0 && t.Sub(x.overdue.answers.Last) >= reads.AskEvery:
		return x.overdue.names()
	}
	return nil // nothing is late, or it has only just become late
}

// longestSilent are the nodes that have been silent for longest.
func (x *heartbeats) longestSilent() (names []string) {
	for _, n := range x.marks.First(askAtOnce, func(n *node) bool { return n.hasLease }) {
		names = append(names, n.name)
	}
	return names
}

// LeasesBehind reports whether the watch of Leases is to be opened again: it has not shown what a direct read has.
func (x *heartbeats) LeasesBehind() bool { return !x.blind() && x.reads.Behind(x.watches.Now()) }
