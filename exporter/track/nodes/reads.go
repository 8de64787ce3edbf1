package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// askAtOnce is the maximum number of Leases per direct read.
const askAtOnce = 3

// showsLag reports whether a Lease event proves that the watch lagged. This is the case if the event arrives late
// although the renewal was in time by the node's clock. Such a renewal does not count as late.
func (x *heartbeats) showsLag(n *node, e event.Event, l *event.Lease) bool {
	if !x.reads.IsWatchLagging() || x.reads.Doubtful() || n == nil || e.Type != event.Modified || n.heartbeat.lastRenewTime.IsZero() || n.heartbeat.last.IsZero() {
		return false
	}
	mark := x.period / 2
	if x.reads.ProvenAfter(x.intervalStart(n).Add(mark + 1)) {
		return false // a direct read has proven that the renewal itself was late
	}
	return l.RenewTime.Sub(n.heartbeat.lastRenewTime) <= mark && e.Seen.Sub(x.intervalStart(n)) > mark
}

// provenAt returns the earliest time at which the silence of a node up to `mark` is proven. It assumes that no more
// events arrive. Without a Lease watch, there are no direct reads. In this case, the proof is a status report of
// another node after `mark`.
func (x *heartbeats) provenAt(mark time.Time) (at time.Time, ok bool) {
	if x.source() == event.KindNode {
		return x.reads.ShownAfter(mark)
	}
	return x.reads.ProvenAt(mark)
}

func (x *heartbeats) leaseRead(n *node, e event.Event, l *event.Lease) {
	if n != nil && n.hasLease && l.RenewTime.After(n.heartbeat.apiRenewTime) {
		x.reads.NewerRenewal(e.Seen, l)
	}
}

// ApplyRead handles the start or the result of a direct read of Leases.
func (x *heartbeats) ApplyRead(e event.Event) {
	x.reads.Apply(e, x.overdue.controlPlane.Servers())
	if e.Type == event.DirectReadStarted {
		return
	}
	if e.Type == event.DirectReadAnswered && e.Reason == "" {
		x.overdue.answers.Note(x.reads.Asked())
	}
	x.found.Add(transition.LeasesRead{At: at(e.Seen), Answered: e.Type == event.DirectReadAnswered, Reason: e.Reason})
}

// ReadFailed returns the start of the last direct read if that read failed and the watch has not caught up since.
// Otherwise ReadFailed returns zero.
func (x *heartbeats) ReadFailed() time.Time { return x.reads.Failed() }

// askAfter is how long kubeflap waits for a late heartbeat before it reads Leases directly. In a large cluster, a
// working watch shows the heartbeat of another node within milliseconds, so no read is necessary.
const askAfter = 500 * time.Millisecond

// LeasesToRead returns the nodes whose Leases kubeflap should read directly, without the watch. If a heartbeat is late,
// the read shows whether the node or the watch is silent. If a node may be overdue, the read shows whether the API
// server answers.
func (x *heartbeats) LeasesToRead() []string {
	m, t := x.checks, x.watches.Now()
	switch {
	case x.isBlind(), x.reads.IsWatchLagging(), t.Sub(x.reads.Asked()) < reads.AskEvery:
		return nil
	case len(m) > 0 && t.Sub(m[0].At) >= askAfter:
		return x.longestSilent()
	case len(x.overdue.candidates) > 0 && t.Sub(x.overdue.answers.Last) >= reads.AskEvery:
		return x.overdue.names()
	}
	return nil // no heartbeat has been late for long enough
}

// longestSilent returns the names of up to askAtOnce nodes, earliest check first. Nodes whose heartbeats already count
// as missed have no check.
func (x *heartbeats) longestSilent() (names []string) {
	for _, n := range x.checks.First(askAtOnce, func(n *node) bool { return n.hasLease }) {
		names = append(names, n.name)
	}
	return names
}

// LeasesBehind reports whether the Lease watch must be reopened because it lags. The watch lags if a direct read has
// shown a renewal that the watch has not shown in time.
func (x *heartbeats) LeasesBehind() bool {
	return !x.isBlind() && x.reads.MustReopenWatch(x.watches.Now())
}
