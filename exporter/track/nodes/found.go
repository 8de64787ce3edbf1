package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/earlier"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// ListEnded handles the end of a list. After the first lists of Nodes and Leases, it reports the nodes that are already
// Unknown. Counters exclude these nodes, because kubeflap did not see the change.
func (x *Nodes) ListEnded(t time.Time) {
	if len(x.intervals) > 0 {
		x.reportGracePeriod() // the number of nodes may have changed
	}
	heartbeats := x.watches.IsSynced(event.KindLease) || x.watches.Missing(event.KindLease)
	if x.initialCheckDone || !heartbeats || !x.watches.IsSynced(event.KindNode) {
		return
	}
	x.initialCheckDone = true
	x.CountLate(t)
	for _, n := range x.inOrder() {
		if n.exists && n.ready == event.StatusTrue {
			x.readyTimes.Note(n.transition)
		}
	}
	for _, n := range x.inOrder() {
		if n.exists && n.foundUnknown && n.ready == event.StatusUnknown {
			n.troubled = t
			x.found.Add(x.foundLost(n, t))
		}
	}
}

// foundLost returns the transition for a node that was already lost when kubeflap started to watch it.
func (x *heartbeats) foundLost(n *node, t time.Time) transition.NodeFoundLost {
	h := &n.heartbeat
	lost := transition.NodeFoundLost{At: at(t), Node: n.name, Loss: x.loss(n)}
	lost.Loss.Found, lost.Loss.Returned = true, x.readyTimes.CountAfter(h.estimateByNode, x.period)
	if lost.Loss.Announced == "" {
		lost.Loss.Perhaps = n.departure.AnnouncedNow()
	}
	if x.canDetectSilence(n) && earlier.IsCredible(h.last, t) {
		lost.Silence = t.Sub(h.last)
	}
	if lost.Unknown = n.ready == event.StatusUnknown; !lost.Unknown {
		return lost
	}
	if earlier.IsCredible(n.transition, t) {
		lost.Marked, lost.Loss.MarkedAge = n.transition, earlier.MarkedAge(h.estimateByNode, n.transition, x.period)
		lost.InDoubt = lost.Silence > 0 && lost.Loss.MarkedAge == 0
	}
	if lost.Silence > x.period && x.period > 0 && !lost.InDoubt {
		h.late, h.missed = true, true
	}
	return lost
}

func (x *heartbeats) watchedSince(n *node) time.Time {
	return latest(n.heartbeat.firstSeen, x.watches.SyncedAt(event.KindLease))
}

// missedFrom returns the time from which an interval that starts at `base` counts as missed. `before` is true if the
// grace period ended before kubeflap watched the node. In this case, `base` is a time by the node's clock, which may be
// slow. So missedFrom allows one more heartbeat interval, unless the node controller has set the node to Unknown.
func (x *heartbeats) missedFrom(n *node, base time.Time) (at time.Time, before bool) {
	at, since := base.Add(x.period), x.watchedSince(n)
	switch {
	case at.After(since):
		return at, false
	case n.heartbeat.confirmed:
		return since, true
	}
	return since.Add(n.heartbeat.rhythm.Undisturbed()), true
}

// `doubts` reports whether the time of the last heartbeat is doubtful. This is the case if, by the node's clock, the
// node was lost before kubeflap watched it. The clock may be slow.
func (x *heartbeats) doubts(n *node, t time.Time) bool {
	at, before := x.missedFrom(n, x.intervalStart(n))
	return before && !n.heartbeat.missed && n.ready == event.StatusTrue && !t.After(at)
}

// lastRenewal returns the time of the last Lease renewal if kubeflap has seen no heartbeat since the watch broke.
// Otherwise lastRenewal returns zero. If the renewal happened during the break, its time is estimated from its
// renewTime.
func (x *heartbeats) lastRenewal(n *node) time.Time {
	h := &n.heartbeat
	if x.isBlind() || h.last.After(x.resumed) || x.source() != event.KindLease || !n.hasLease {
		return time.Time{}
	}
	return h.renewalSeen
}
