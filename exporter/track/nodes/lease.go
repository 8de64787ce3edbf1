package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// ApplyLease handles a Lease event.
func (x *Nodes) ApplyLease(e event.Event, l *event.Lease) {
	n, renewed := x.nodes[l.Name], event.NodeTime(l.RenewTime)
	if e.Type == event.DirectReadLease {
		if n != nil && n.hasLease && n.heartbeat.apiRenewTime.Before(renewed) {
			x.reads.NewerRenewal(e.Seen, l.Name, renewed)
		}
		return
	}
	if e.IsInferred() {
		x.forgetLease(n)
		return
	}
	if x.showsLag(n, e, renewed) {
		x.resumed = e.Seen
	}
	made := x.estimateMade(n, e.Seen, renewed)
	x.reads.WatchShowed(made, e.Seen, l.Name, renewed)
	x.CountLate(e.Seen) // the watch works, so a heartbeat that has not arrived is late
	if e.Type == event.Deleted {
		x.forgetLease(n)
		return
	}
	n = x.getOrCreate(l.Name)
	n.hasLease, n.heartbeat.apiRenewTime = true, renewed
	was := n.heartbeat.interval()
	if n.heartbeat.leaseSeconds = l.DurationSeconds; n.heartbeat.interval() != was {
		x.noteIntervals()
	}
	x.applyRenewTime(n, e, made, renewed)
}

func (x *Nodes) forgetLease(n *node) {
	if n != nil {
		// The node controller keeps its copy of the Lease, so controllerRenewTime does not change.
		n.hasLease, n.heartbeat.apiRenewTime = false, event.NodeTime{}
		x.forgetIfGone(n)
	}
}

// applyRenewTime handles the renewTime of a Lease. A renewal counts as a heartbeat if its renewTime is later than the
// renewTime that the node controller has saved. The node sent the renewal at `made`, by kubeflap's clock.
func (x *heartbeats) applyRenewTime(n *node, e event.Event, made time.Time, renewed event.NodeTime) {
	h := &n.heartbeat
	if e.Type == event.Listed {
		h.doubtUntil, h.behind = event.NodeTime(e.Seen), 0
		if !h.renewalSeen.IsZero() {
			h.doubtUntil = h.lastRenewTime.Add(e.Seen.Sub(h.renewalSeen))
		}
	}
	switch {
	case x.watches.First(e):
		h.controllerRenewTime, h.lastRenewTime = renewed, renewed
		h.estimateLast(renewed, e.Seen)
		x.scheduleCheck(n)
	case !h.controllerRenewTime.Before(renewed):
		x.noteSetBack(n, e, renewed)
	case n.exists || e.Type == event.Added:
		// The Lease of a new node can arrive before its Node.
		h.controllerRenewTime = renewed
		h.catchUp = x.catchUpAfter(n, e, renewed)
		x.applyRenewal(n, made, e.Seen, renewed)
		n.noteRenewal(e, made, renewed)
		x.reportCatchUp(n, e.Seen, renewed)
		if x.watches.Live(event.KindLease, e.Seen) {
			h.behind = e.Seen.Sub(renewed.IfClocksAgree())
			h.clockLeads.add(e.Seen, -h.behind)
		}
	default:
		// This Lease has no Node. The Node was deleted, or kubeflap has not seen it yet. So the start of the first
		// interval is an estimate.
		h.estimated = true
	}
}

// noteSetBack adds a transition if a node's clock was set back. The node controller ignores renewTimes that are earlier
// than the one it has saved (node lifecycle controller, tryUpdateNodeHealth). So it considers the node silent.
func (x *heartbeats) noteSetBack(n *node, e event.Event, renewed event.NodeTime) {
	h := &n.heartbeat
	if h.setBack || e.Type != event.Modified || !renewed.Before(h.controllerRenewTime) || renewed.IsZero() || h.renewalSeen.IsZero() {
		return
	}
	h.setBack = true
	back := transition.ClockSetBack{OfNode: n.at(e.Seen), By: h.controllerRenewTime.Add(e.Seen.Sub(h.renewalSeen)).Sub(renewed)}
	if !h.doubtUntil.Before(h.lastRenewTime) {
		back.InDoubt = h.doubtUntil.Sub(renewed)
	}
	x.found.Add(back)
}

// mayIgnore reports whether the node controller may ignore the node's renewals because the node's clock was set back while
// kubeflap did not watch.
func (h *heartbeat) mayIgnore() bool {
	return h.behind > clocksAgree && !h.doubtUntil.Before(h.lastRenewTime)
}

// showsLag reports whether a Lease event proves that the watch lagged. This is the case if the event arrives late
// although the renewal was in time by the node's clock. Such a renewal does not count as late.
func (x *heartbeats) showsLag(n *node, e event.Event, renewed event.NodeTime) bool {
	if !x.reads.IsWatchLagging() || x.reads.Doubtful() || n == nil || e.Type != event.Modified || n.heartbeat.lastRenewTime.IsZero() || n.heartbeat.last.IsZero() {
		return false
	}
	mark, start := x.grace.Period/2, x.intervalStart(n)
	if x.reads.ProvenAfter(start.Add(mark + 1)) {
		return false // a direct read has proven that the renewal itself was late
	}
	return renewed.Sub(n.heartbeat.lastRenewTime) <= mark && e.Seen.Sub(start) > mark
}

// noteRenewal records a renewal. An early renewal indicates a restart of the kubelet. A renewal in a list never counts
// as early, because kubeflap may have missed the renewal before it.
func (n *node) noteRenewal(e event.Event, made time.Time, renewed event.NodeTime) {
	h := &n.heartbeat
	step, bySeen := renewed.Sub(h.lastRenewTime), time.Duration(0)
	if !h.renewalSeen.IsZero() {
		bySeen = made.Sub(h.renewalSeen)
	}
	if e.Type == event.Modified && !h.lastRenewTime.IsZero() && isEarly(h.interval(), step, bySeen) {
		n.kubelet.early, n.kubelet.earlyBy = e.Seen, renewed
	}
	if e.Type == event.Listed && !h.renewalSeen.IsZero() {
		made = h.madeAt(renewed, made)
	}
	h.lastRenewTime, h.renewalSeen = renewed, made
	n.kubelet.detectStart()
}
