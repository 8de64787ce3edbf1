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
	// `pending` holds late heartbeats while the reason for their delay is unknown. Either the API server delayed the
	// write until etcd was back, or the watch was late. The node's next renewal shows which of the two is true.
	pending []pendingHeartbeat
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

// pendingHeartbeat is a heartbeat that does not count yet.
type pendingHeartbeat struct {
	// `made` is the time at which the node sent the heartbeat, by kubeflap's clock. `seen` is the time at which a watch
	// showed the heartbeat.
	made, seen time.Time
	// `late` is set if the interval before this heartbeat was counted as late. `missed` is set if that interval was
	// counted as missed.
	late, missed bool
	// `report` is true for a status report, and false for a Lease renewal. `follows` is set if the watch also delayed
	// the previous renewal.
	report, follows bool
}

// estimateMade estimates the time of a renewal by kubeflap's clock. Normally, this is the time at which the watch
// showed the renewal. If the watch may be late, the estimate is the time of the previous renewal plus the difference
// between the two renewTimes.
func (x *heartbeats) estimateMade(n *node, seen time.Time, renewed event.NodeTime) time.Time {
	made := renewed.IfClocksAgree()
	switch {
	case !x.reads.Doubtful():
		return seen
	case n != nil && !n.heartbeat.renewalSeen.IsZero():
		made = n.heartbeat.renewalSeen.Add(renewed.Sub(n.heartbeat.lastRenewTime))
	}
	if made.After(seen) {
		return seen
	}
	return made
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
	if last := h.pendingRenewal(); last != nil {
		interval := h.interval()
		follows = last.follows || late || renewed.Sub(h.lastRenewTime) <= interval+interval/20
		x.endPending(n, follows, seen)
	} else if !late {
		x.endPending(n, false, seen)
	}
	if !late || h.last.IsZero() {
		x.countHeartbeat(n, made, seen, renewed)
		return
	}
	x.addPending(n, pendingHeartbeat{made: made, seen: seen, follows: follows})
}

// pendingRenewal returns the last pending Lease renewal, or nil.
func (d *delayed) pendingRenewal() *pendingHeartbeat {
	for i := range slices.Backward(d.pending) {
		if !d.pending[i].report {
			return &d.pending[i]
		}
	}
	return nil
}

// addPending adds a heartbeat to the pending heartbeats. The next interval begins at this heartbeat.
func (x *heartbeats) addPending(n *node, p pendingHeartbeat) {
	h := &n.heartbeat
	p.late, p.missed = h.late, h.missed
	h.late, h.missed = false, false
	h.pending = append(h.pending, p)
	x.expect(x.nextCheck(n))
}

// endPending counts the pending heartbeats. If the watch delivered them late as a backlog, they count at the times when
// the node sent them. Otherwise, they count at the times when kubeflap saw them. A status report in a backlog ends no
// interval, because its position among the renewals is unknown.
func (x *heartbeats) endPending(n *node, backlog bool, t time.Time) {
	h := &n.heartbeat
	pending, late, missed := h.pending, h.late, h.missed
	if len(pending) == 0 {
		return
	}
	h.pending, h.late, h.missed = nil, false, false
	for _, p := range pending {
		h.late, h.missed = h.late || p.late, h.missed || p.missed
		switch {
		case !backlog:
			x.countHeartbeat(n, p.seen, t, event.NodeTime{})
		case !p.report:
			x.countHeartbeat(n, p.made, t, event.NodeTime{})
		}
	}
	h.late, h.missed = late, missed // these values belong to the current interval
}

// lastSeen returns the time at which kubeflap saw the last heartbeat. This heartbeat can be pending.
func (h *heartbeat) lastSeen() time.Time {
	if n := len(h.pending); n > 0 {
		return h.pending[n-1].seen
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
