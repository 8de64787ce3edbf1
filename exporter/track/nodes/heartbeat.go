package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// heartbeats counts the heartbeats of the nodes. Heartbeats that the node controller ignores do not count (node
// lifecycle controller, tryUpdateNodeHealth).
type heartbeats struct {
	health
	// `silences` holds the silences that have ended since silencesSince.
	silences      []controlplane.Silence
	silencesSince time.Time
}

// heartbeat holds the state of one node's heartbeats.
type heartbeat struct {
	written
	current
	delayed
	// leaseSeconds is the Lease's leaseDurationSeconds, or 0.
	leaseSeconds int32
	// `previous` holds the times of the previous heartbeats, newest first. Unknown times are zero. The times cover one
	// minute, because the API server can delay a write of the node controller for up to a minute.
	previous [7]time.Time
	// `steady` counts the node's regular status reports while kubeflap has no permission to watch Leases.
	steady steady
	// addresses is the number of ready addresses on the node when the grace period ended.
	addresses int
	// scheduledCheck is the time of the node's next check, or zero if the current interval needs no more checks.
	scheduledCheck time.Time
	intervals      window
	// clockLeads measures how far the node's clock is ahead of kubeflap's. Each measured value is too small by the
	// delivery time of a renewal.
	clockLeads window
}

// written holds what the node wrote.
type written struct {
	// controllerRenewTime is the node controller's copy of the renewTime. apiRenewTime is the current renewTime in
	// the API. The two differ after the node's clock was set back.
	controllerRenewTime, apiRenewTime event.NodeTime
	// lastRenewTime is the renewTime of the last renewal. renewalSeen is the time of this renewal by kubeflap's
	// clock.
	lastRenewTime event.NodeTime
	renewalSeen   time.Time
	// doubtUntil is the latest renewTime that the node controller may have saved while kubeflap did not watch. If the
	// node's clock was set back since, the controller ignores renewals up to that renewTime.
	doubtUntil event.NodeTime
	// `behind` is how far the node's clock was behind kubeflap's at the last renewal, or 0 if unknown.
	behind time.Duration
	// `reported` is the lastHeartbeatTime of the Ready condition.
	reported event.NodeTime
}

// current is the interval that began with the node's last heartbeat.
type current struct {
	// `last` is the time of the last heartbeat, or zero. `estimated` is set if this time is an estimate, usually from
	// the node's clock.
	last      time.Time
	estimated bool
	// byNode is the time of the last heartbeat by the node's clock, or zero if unknown. `confirmed` is set after the node
	// controller has set the node to Unknown, which confirms an estimate. `timed` is set if the heartbeat arrived without
	// delay, which means that `last` is exact.
	byNode           event.NodeTime
	confirmed, timed bool
	// `late` is set if the interval has been counted as late. `missed` is set if it has been counted as missed.
	late, missed bool
	// setBack is set if the node's clock was set back during the interval.
	setBack bool
	// `overdue` is set if the node controller should have set Ready to Unknown, but has not done so. `decided` is set if it
	// is known whether that is so.
	overdue, decided bool
}

// countHeartbeat counts a heartbeat and ends the interval before it. The node sent the heartbeat at t, and kubeflap
// counts it at `seen`. byNode is the time of the heartbeat by the node's clock, or zero if unknown.
func (x *heartbeats) countHeartbeat(n *node, t, seen time.Time, byNode event.NodeTime) {
	if x.areLeasesKnown() {
		x.found.AddInOrder(x.appendLate(nil, n, t, seen))
	}
	h := &n.heartbeat
	spans, sent := x.spansBreak(n, t, byNode), n.foundAt(t, seen)
	measured := !x.isBlind() && (spans || !h.estimated && !h.last.Before(x.liveFrom()))
	x.endSilence(n, t, measured)
	switch {
	case h.last.IsZero():
	case !x.isBlind() && h.estimated && h.missed && x.watches.Live(x.source(), seen):
		interval := t.Sub(h.last)
		if !h.byNode.IsZero() && !byNode.IsZero() {
			interval = byNode.Sub(h.byNode) // a difference between the clocks has no effect
		}
		interval = max(interval, t.Sub(latest(x.watchedSince(n), x.resumed)))
		h.intervals.add(t, interval)
		x.found.Add(transition.HeartbeatSeen{OfNode: sent, Interval: interval, Unwatched: true})
	case measured:
		interval := t.Sub(h.last)
		h.intervals.add(t, interval)
		if !x.areLeasesKnown() {
			h.steady.learn(interval)
		}
		if n.ready == event.StatusTrue && n.statusSince.Before(h.last) {
			// Before, the node controller was busy with other nodes, or another one led.
			leads, _ := x.controlPlane.LeadsSince(t)
			x.grace.NodeStayedReady(t.Sub(latest(h.last, x.marked, leads)))
		}
		x.found.Add(transition.HeartbeatSeen{OfNode: sent, Interval: interval})
	case h.missed:
		x.found.Add(transition.HeartbeatsResumed{OfNode: sent})
	}
	copy(h.previous[1:], h.previous[:])
	h.previous[0] = h.last
	if h.estimated {
		h.previous[0] = time.Time{}
	}
	h.current = current{last: t, byNode: byNode, timed: spans || !x.isBlind() && !t.Before(x.liveFrom())}
	x.scheduleCheck(n)
}

// estimateLast estimates the time of the last heartbeat from byClock, a time by the node's clock. It does nothing if
// kubeflap knows a later heartbeat.
func (h *heartbeat) estimateLast(byClock event.NodeTime, seen time.Time) {
	if t := notAfter(byClock.IfClocksAgree(), seen); t.After(h.last) {
		h.last, h.estimated, h.byNode = t, true, byClock
	}
}

// notAfter returns the earlier of the two times, or zero if t is zero. The result has the monotonic reading of `now`, so
// a later change of kubeflap's clock does not affect it.
func notAfter(t, now time.Time) time.Time {
	switch {
	case t.IsZero():
		return t
	case t.After(now):
		return now
	}
	return now.Add(t.Sub(now))
}

// statusHeartbeat handles the lastHeartbeatTime of the Ready condition. Any change of that time is a heartbeat, even a
// change to an earlier time. At each such change, the node controller replaces its copy of the Lease with the current
// Lease (node lifecycle controller, tryUpdateNodeHealth).
func (x *heartbeats) statusHeartbeat(n *node, e event.Event, ready *event.Condition) {
	if ready == nil || ready.Reason == reasonNeverUpdated {
		return
	}
	h, reported := &n.heartbeat, event.NodeTime(ready.LastHeartbeatTime)
	if h.reported.Equal(reported) {
		return
	}
	h.reported = reported
	h.controllerRenewTime, h.doubtUntil = h.apiRenewTime, event.NodeTime{}
	n.kubelet.reported = x.watches.NotBefore(event.KindNode, e.Seen)
	switch {
	case x.source() == event.KindNode:
		x.reads.WatchShowedReport(e.Seen)
		x.CountLate(e.Seen)
	case x.reads.Doubtful() && !h.last.IsZero():
		return // the Lease watch may be late, and the renewals that it then shows say more than this report
	}
	x.countHeartbeat(n, e.Seen, e.Seen, reported)
	n.kubelet.detectStart()
}

// firstHeartbeat starts a node's first interval. If kubeflap has just started, the interval begins at the last known
// heartbeat. If the node is new, the interval begins now. The node controller does the same (node lifecycle controller,
// tryUpdateNodeHealth).
func (x *heartbeats) firstHeartbeat(n *node, e event.Event, ready *event.Condition) {
	h := &n.heartbeat
	h.controllerRenewTime = h.apiRenewTime
	if ready != nil {
		h.reported = event.NodeTime(ready.LastHeartbeatTime)
	}
	switch {
	case x.watches.First(e) && ready != nil:
		h.estimateLast(h.reported, e.Seen)
	case !x.watches.First(e) && (h.last.IsZero() || h.estimated):
		// kubeflap may have seen the Lease before the Node.
		h.last, h.estimated, h.byNode = latest(h.last, e.Seen), h.estimated || e.Seen.After(h.last), event.NodeTime{}
	}
	x.scheduleCheck(n)
	x.noteIntervals()
}

// noteIntervals notes the number of nodes and their longest heartbeat interval. Both are unknown until the end of the first
// list.
func (x *heartbeats) noteIntervals() {
	if !x.watches.IsSynced(event.KindNode) {
		return
	}
	nodes, longest := 0, time.Duration(0)
	for _, n := range x.nodes {
		if n.exists {
			nodes, longest = nodes+1, max(longest, n.heartbeat.interval())
		}
	}
	x.grace.SetNodes(nodes, longest)
}
