package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/earlier"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Listed handles the end of a list. Once the first lists of nodes and of their heartbeats are complete, it reports the nodes that
// the node controller had set to Unknown before kubeflap watched them. They are not counted: counters include only what kubeflap
// saw.
func (x *Nodes) Listed(t time.Time) {
	if len(x.intervals) > 0 {
		x.tell() // how many they are
	}
	heartbeats := x.watches.IsSynced(event.KindLease) || x.watches.Missing(event.KindLease)
	if x.compared || !heartbeats || !x.watches.IsSynced(event.KindNode) {
		return
	}
	x.compared = true
	x.CountLate(t)
	for _, n := range x.inOrder() {
		if n.exists && n.ready == event.StatusTrue {
			x.returns.Note(n.transition)
		}
	}
	for _, n := range x.inOrder() {
		if n.exists && n.foundUnknown && n.ready == event.StatusUnknown {
			n.troubled = t
			x.found.Add(x.foundLost(n, t))
		}
	}
}

// foundLost is the loss of a node that had begun when kubeflap started to watch.
func (x *heartbeats) foundLost(n *node, t time.Time) transition.NodeFoundLost {
	h := &n.heartbeat
	lost := transition.NodeFoundLost{At: at(t), Node: n.name, Loss: x.loss(n)}
	lost.Loss.Found, lost.Loss.Returned = true, x.returns.After(h.told, x.period)
	if lost.Loss.Announced == "" {
		lost.Loss.Perhaps = n.departure.Present()
	}
	if x.tells(n) && earlier.IsCredible(h.last, t) {
		lost.Silence = t.Sub(h.last)
	}
	if lost.Unknown = n.ready == event.StatusUnknown; !lost.Unknown {
		return lost
	}
	if earlier.IsCredible(n.transition, t) {
		lost.Marked, lost.Loss.MarkedAge = n.transition, earlier.MarkedAge(h.told, n.transition, x.period)
		lost.InDoubt = lost.Silence > 0 && lost.Loss.MarkedAge == 0
	}
	if lost.Silence > x.period && x.period > 0 && !lost.InDoubt {
		h.late, h.missed = true, true
	}
	return lost
}

// watchedSince is when kubeflap began to see whether the node sends heartbeats.
func (x *heartbeats) watchedSince(n *node) time.Time {
	return latest(n.heartbeat.since, x.watches.Synchronised(event.KindLease))
}

// missedFrom is when an interval that began at base misses the grace period. If that was before kubeflap watched, only the clock of the node says so,
// which may be behind: then no heartbeat must come for one more interval, or the node controller must have found it silent, too.
func (x *heartbeats) missedFrom(n *node, base time.Time) (at time.Time, before bool) {
	at, since := base.Add(x.period), x.watchedSince(n)
	switch {
	case at.After(since):
		return at, false
	case n.heartbeat.believed:
		return since, true
	}
	return since.Add(n.heartbeat.rhythm.Undisturbed()), true
}

// doubts reports whether a heartbeat may be younger than the node's clock shows: by that clock the node was lost before kubeflap
// watched it, and nothing else confirms it yet.
func (x *heartbeats) doubts(n *node, t time.Time) bool {
	at, before := x.missedFrom(n, x.intervalStart(n))
	return before && !n.heartbeat.missed && n.ready == event.StatusTrue && !t.After(at)
}

// lastRenewal is when a node last renewed its Lease, if heartbeats could not be seen for a while and none was seen since; else it is zero. A list has shown
// that renewal. If it happened while the watch was broken, its time is by the node's own clock.
func (x *heartbeats) lastRenewal(n *node) time.Time {
	h := &n.heartbeat
	if x.blind() || h.last.After(x.resumed) || x.source() != event.KindLease || n.leaseGeneration != x.watches.Generation(event.KindLease) {
		return time.Time{}
	}
	return h.renewalSeen
}
