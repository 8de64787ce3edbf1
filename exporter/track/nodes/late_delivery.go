package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// delayed holds what may have arrived late.
type delayed struct {
	// catchUp checks whether a missed heartbeat was delayed by the watch, and not by the node. It is nil if no check is
	// in progress.
	catchUp *catchUp
	// `pending` is a late renewal while the reason for its delay is unknown, or nil. Either the API server delayed the
	// write until etcd was back, or the watch was late. The node's next renewal shows which of the two is true.
	pending *pendingRenewal
}

// catchUp tracks the renewals after a missed heartbeat. Their renewTimes can show that the node was not silent, and
// that the watch was late instead.
//
// A stall of etcd looks different: it leaves a gap in the renewTimes. The kubelet retries its renewal during the stall,
// but etcd accepts only one of these requests, because the others contain an outdated resourceVersion.
type catchUp struct {
	// `renewed` is the renewTime of the last renewal before the silence. `seen` is the time of that renewal by
	// kubeflap's clock.
	renewed event.NodeTime
	seen    time.Time
	// intervals holds the heartbeat intervals measured before the silence.
	intervals window
}

// pendingRenewal is a renewal that does not count yet.
type pendingRenewal struct {
	// `made` is the time at which the node sent the renewal, by kubeflap's clock. `seen` is the time at which the watch
	// showed it.
	made, seen time.Time
	// `late` is set if the interval before this renewal was counted as late. `missed` is set if that interval was counted
	// as missed.
	late, missed bool
	// `follows` is set if the watch also delayed the previous renewal.
	follows bool
}

// estimateMade estimates the time of a renewal by kubeflap's clock. Normally, this is the time at which the watch
// showed the renewal. If the watch may be late, the estimate is the time of the previous renewal plus the difference
// between the two renewTimes.
func (x *heartbeats) estimateMade(n *node, seen time.Time, renewed event.NodeTime) time.Time {
	if !x.reads.Doubtful() {
		return seen
	}
	if n == nil || n.heartbeat.renewalSeen.IsZero() {
		return notAfter(renewed.IfClocksAgree(), seen)
	}
	return n.heartbeat.madeAt(renewed, seen)
}

// madeAt returns the time of a renewal that kubeflap saw by `seen`. It is measured by the node's clock, unless that clock was
// set back since the last renewal.
func (h *heartbeat) madeAt(renewed event.NodeTime, seen time.Time) time.Time {
	if renewed.Before(h.lastRenewTime) {
		return seen
	}
	return notAfter(h.renewalSeen.Add(renewed.Sub(h.lastRenewTime)), seen)
}

// applyRenewal handles a renewal that the node sent at `made` and the watch showed at `seen`. A renewal that arrived
// late stays pending until the node's next renewal.
//
// A pending renewal was delayed by the watch, not by the API server, if the previous or the next renewal was delayed,
// too, because the API server delays at most one renewal per node. The watch also delayed it if the node sent its next
// renewal after one regular interval.
func (x *heartbeats) applyRenewal(n *node, made, seen time.Time, renewed event.NodeTime) {
	h := &n.heartbeat
	late, follows := controlplane.IsLate(made, seen), false
	if h.pending != nil {
		interval := h.interval()
		follows = h.pending.follows || late || renewed.Sub(h.lastRenewTime) <= interval+interval/20
		x.endPending(n, follows, seen)
	}
	if !late || h.last.IsZero() {
		x.countHeartbeat(n, made, seen, renewed)
		return
	}
	h.pending = &pendingRenewal{made: made, seen: seen, late: h.late, missed: h.missed, follows: follows}
	h.late, h.missed = false, false // the next interval begins at this renewal
	x.scheduleCheck(n)
}

// endPending counts the pending renewal. If the watch delivered it late, it counts at the time when the node sent it.
// Otherwise, it counts at the time when kubeflap saw it.
func (x *heartbeats) endPending(n *node, byWatch bool, t time.Time) {
	h := &n.heartbeat
	p, late, missed := h.pending, h.late, h.missed
	h.pending, h.late, h.missed = nil, p.late, p.missed
	sent := p.seen
	if byWatch {
		sent = p.made
	}
	x.countHeartbeat(n, sent, t, event.NodeTime{})
	h.late, h.missed = late, missed // these values belong to the current interval
}

// lastSeen returns the time at which kubeflap saw the last heartbeat. This heartbeat can be pending.
func (h *heartbeat) lastSeen() time.Time {
	if h.pending != nil {
		return h.pending.seen
	}
	return h.last
}

// startCatchUp starts to track renewals if a heartbeat is missed. Later renewals can show that the watch was late.
func (h *heartbeat) startCatchUp() {
	if h.missed && h.catchUp == nil && !h.renewalSeen.IsZero() {
		h.catchUp = &catchUp{h.lastRenewTime, h.renewalSeen, window{slices.Clone(h.intervals.samples)}}
	}
}

// catchUpAfter returns the node's catchUp if the watch may have delivered a renewal late, and otherwise nil.
func (x *heartbeats) catchUpAfter(n *node, e event.Event, renewed event.NodeTime) *catchUp {
	h := &n.heartbeat
	if e.Type != event.Modified || h.lastRenewTime.IsZero() || h.renewalSeen.IsZero() || renewed.Sub(h.lastRenewTime) > x.grace.Period/2 {
		return nil
	}
	return h.catchUp
}

// reportCatchUp adds a transition if the renewTimes cover the whole silence, so the watch was late and the node was not.
// It tolerates a gap of up to half of the grace period, because a heartbeat is late only after this time.
func (x *heartbeats) reportCatchUp(n *node, t time.Time, renewed event.NodeTime) {
	c := n.heartbeat.catchUp
	if c == nil || renewed.Sub(c.renewed) < t.Sub(c.seen)-x.grace.Period/2 {
		return
	}
	n.heartbeat.intervals, n.heartbeat.catchUp = c.intervals, nil
	x.silences = slices.DeleteFunc(x.silences, func(s controlplane.Silence) bool { return s.Node == n.name && s.Ended.After(c.seen) })
	x.found.Add(transition.HeartbeatsWereInTime{OfNode: n.at(t), Silence: t.Sub(c.seen)})
}
