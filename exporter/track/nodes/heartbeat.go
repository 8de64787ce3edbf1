package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/checks"
	"github.com/kubeflap/kubeflap/exporter/track/earlier"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/track/restart"
	"github.com/kubeflap/kubeflap/exporter/track/rhythm"
	"github.com/kubeflap/kubeflap/exporter/track/shared"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/track/window"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// `heartbeats` holds the heartbeat state that all nodes share.
type heartbeats struct {
	watches *watches.Watches
	found   *transition.List
	// period is the current grace period, or 0 if it is unknown.
	period time.Duration
	// isManaged reports whether a cloud provider runs the control plane.
	isManaged func() bool
	labelled  shared.Counts
	// `resumed` is the end of the last break of the watch that shows heartbeats. Heartbeat intervals start at that time
	// or later, so heartbeats during the break never count as late.
	resumed time.Time
	// `checks` is a queue with the next check of each node. A check finds out whether the node's heartbeat is late or
	// missed. To save work, a new heartbeat does not reschedule the check, so a check can be too early.
	checks checks.Queue[*node]
	// `reads` holds the results of direct reads of Leases.
	reads   reads.Reads
	overdue overdue
	// silences holds the silences that have ended, since the time restoredSince (zero: since the first lists).
	silences      []grace.Silence
	restoredSince time.Time
	AddressesOn   func(node string) int // the method ReadyOn of package endpoints
	// initialCheckDone is set after kubeflap has searched the first lists for lost nodes. readyTimes holds the times
	// at which the Ready nodes of the first list had become Ready.
	initialCheckDone bool
	readyTimes       earlier.ReadyTimes
}

// liveFrom returns the time from which heartbeats arrive without delay. Until then, a resumed watch delivers the events
// that it missed.
func (x *heartbeats) liveFrom() time.Time { return watches.LiveFrom(x.resumed) }

// heartbeat holds the state of one node's heartbeats. Heartbeats that the node controller ignores do not count (node
// lifecycle controller, tryUpdateNodeHealth).
type heartbeat struct {
	// `last` is the time of the last heartbeat, or zero. `estimated` is set if this time is an estimate, usually from
	// the node's clock.
	last      time.Time
	estimated bool
	// estimateByNode is the time by the node's clock from which `last` was estimated, or zero. `confirmed` is set after
	// the node controller has set the node to Unknown, which confirms estimateByNode.
	estimateByNode time.Time
	confirmed      bool
	// lastByNode is the time of the last heartbeat by the node's clock, or zero if unknown. `timed` is set if the
	// heartbeat arrived without delay, which means that `last` is exact.
	lastByNode time.Time
	timed      bool
	// `previous` holds the times of the previous heartbeats, newest first. Unknown times are zero. The times cover one
	// minute, because the API server can delay a write of the node controller for up to a minute.
	previous [7]time.Time
	// firstSeen is the time at which kubeflap began to watch the node. Heartbeats that became late before that time
	// are not counted.
	firstSeen time.Time
	// controllerRenewTime is the node controller's copy of the renewTime. apiRenewTime is the current renewTime in
	// the API. The two differ after the node's clock was set back.
	controllerRenewTime, apiRenewTime time.Time
	// `reported` is the lastHeartbeatTime of the Ready condition.
	reported time.Time
	// lastRenewTime is the renewTime of the last renewal. renewalSeen is the time of this renewal by kubeflap's
	// clock.
	lastRenewTime, renewalSeen time.Time
	// `rhythm` measures the node's heartbeat intervals. `every` is the measured interval, or 0 while the node does not
	// exist.
	rhythm rhythm.Kubelet
	every  time.Duration
	// `late` is set if the current interval has been counted as late. `missed` is set if it has been counted as missed.
	late, missed bool
	// setBack is set if the node's clock was set back since the last heartbeat.
	setBack bool
	// catchUp checks whether a missed heartbeat was delayed by the watch, and not by the node. It is nil if no check is
	// in progress.
	catchUp *reads.CatchUp
	// `pending` holds the heartbeats that do not count yet, because the reason for their delay is unknown.
	pending reads.Pending
	// `steady` counts the node's regular status reports while Leases cannot be watched.
	steady rhythm.Steady
	// `overdue` is set if the node controller should have set Ready to Unknown, but has not done so.
	overdue bool
	// addresses is the number of ready addresses on the node when the grace period ended.
	addresses int
	// scheduledCheck is the time of the node's next check, or zero if the current interval needs no more checks.
	scheduledCheck       time.Time
	total, lates, misses uint64
	intervals            window.Window
	// clockLeads measures how far the node's clock is ahead of kubeflap's. Each measured value is too small by the
	// delivery time of a renewal.
	clockLeads window.Window
}

// countHeartbeat counts a heartbeat and ends the interval before it. The node sent the heartbeat at t, and kubeflap
// counts it at `seen`. byNode is the time of the heartbeat by the node's clock, or zero if unknown.
func (x *Nodes) countHeartbeat(n *node, t, seen, byNode time.Time) {
	if x.provesSilence(n) {
		x.found.AddInOrder(x.appendLate(nil, n, t, seen))
	}
	h := &n.heartbeat
	spans, sent := x.spansBreak(n, t, byNode), transition.At{Time: t, Waited: seen.Sub(t)}
	measured := !x.isBlind() && (spans || !h.estimated && !h.last.Before(x.liveFrom()))
	x.addSilence(&x.silences, n, t, measured)
	switch {
	case h.last.IsZero():
	case !x.isBlind() && h.estimated && h.missed && x.watches.Live(x.source(), seen):
		interval := max(earlier.Interval(h.last, t, h.estimateByNode, byNode), t.Sub(latest(x.watchedSince(n), x.resumed)))
		h.intervals.Add(t, interval)
		x.found.Add(transition.HeartbeatSeen{At: sent, Node: n.name, Interval: interval, Unwatched: true})
	case measured:
		interval := t.Sub(h.last)
		h.intervals.Add(t, interval)
		if x.source() == event.KindNode {
			h.steady.Learn(interval)
		}
		if n.ready == event.StatusTrue && n.statusSince.Before(h.last) && x.grace.NodeStayedReady(interval) {
			x.graceChanged()
		}
		x.found.Add(transition.HeartbeatSeen{At: sent, Node: n.name, Interval: interval})
	case h.missed:
		back := h.sentAt(t, byNode)
		x.found.Add(transition.HeartbeatsResumed{At: transition.At{Time: back, Waited: seen.Sub(back)}, Node: n.name})
	}
	copy(h.previous[1:], h.previous[:])
	h.previous[0] = h.last
	if h.estimated {
		h.previous[0] = time.Time{}
	}
	h.last, h.estimated, h.estimateByNode = t, false, time.Time{}
	h.lastByNode, h.timed = byNode, spans || !x.isBlind() && !t.Before(x.liveFrom())
	h.late, h.missed, h.overdue, h.setBack, h.confirmed = false, false, false, false, false
	h.total++
	x.scheduleCheck(n)
}

// ApplyLease handles a Lease event. A renewal counts as a heartbeat if its renewTime is later than the renewTime that
// the node controller has saved.
func (x *Nodes) ApplyLease(e event.Event, l *event.Lease) {
	if e.Type == event.DirectReadLease {
		x.leaseRead(x.nodes[l.Name], e, l)
		return
	}
	if e.IsInferred() {
		x.forgetLease(l.Name)
		return
	}
	if x.showsLag(x.nodes[l.Name], e, l) {
		x.resumed = e.Seen
	}
	made := x.estimateMade(x.nodes[l.Name], e.Seen, l.RenewTime)
	x.reads.WatchShowed(made, e.Seen, l)
	x.overdue.answers.Note(e.Seen)
	x.CountLate(e.Seen) // the watch works, so a heartbeat that has not arrived is late
	if e.Type == event.Deleted {
		x.forgetLease(l.Name)
		return
	}
	n := x.getOrCreate(l.Name)
	h := &n.heartbeat
	n.hasLease, h.apiRenewTime = true, l.RenewTime
	if l.DurationSeconds != h.rhythm.Duration {
		h.rhythm.Duration = l.DurationSeconds
		x.noteInterval(n)
	}
	switch {
	case x.watches.First(e):
		h.controllerRenewTime, h.lastRenewTime = l.RenewTime, l.RenewTime
		h.estimateLast(l.RenewTime, e.Seen)
		x.scheduleCheck(n)
	case !h.controllerRenewTime.Before(l.RenewTime):
		x.noteSetBack(n, e, l)
	case n.exists || e.Type == event.Added:
		// The Lease of a new node can arrive before its Node.
		h.controllerRenewTime = l.RenewTime
		h.catchUp = x.catchUpAfter(n, e, l.RenewTime)
		x.applyRenewal(n, made, e.Seen, l.RenewTime)
		if !h.lastRenewTime.IsZero() && h.rhythm.Renewals.Learn(l.RenewTime.Sub(h.lastRenewTime)) {
			x.noteInterval(n)
		}
		n.noteRenewal(e, made, l.RenewTime)
		x.reportCatchUp(n, e.Seen, l.RenewTime)
		if x.watches.Live(event.KindLease, e.Seen) {
			h.clockLeads.Add(e.Seen, l.RenewTime.Sub(e.Seen))
		}
	default:
		// This Lease has no Node. The Node was deleted, or kubeflap has not seen it yet. So the start of the first
		// interval is an estimate.
		h.estimated = true
	}
}

// statusHeartbeat handles the lastHeartbeatTime of the Ready condition. Any change of that time is a heartbeat, even a
// change to an earlier time. At each such change, the node controller replaces its copy of the Lease with the current
// Lease (node lifecycle controller, tryUpdateNodeHealth).
func (x *Nodes) statusHeartbeat(n *node, e event.Event, ready *event.Condition) {
	if ready == nil || ready.Reason == reasonNeverUpdated || n.heartbeat.reported.Equal(ready.LastHeartbeatTime) {
		return
	}
	if n.heartbeat.rhythm.Reports.Learn(ready.LastHeartbeatTime.Sub(n.heartbeat.reported)) {
		x.noteInterval(n)
	}
	n.heartbeat.reported = ready.LastHeartbeatTime
	n.heartbeat.controllerRenewTime = n.heartbeat.apiRenewTime
	n.kubelet.StatusReported(e.Seen)
	switch {
	case x.source() == event.KindNode:
		x.reads.WatchShowedReport(e.Seen)
		x.overdue.answers.Note(e.Seen)
		x.CountLate(e.Seen)
	case x.reads.Doubtful() && !n.heartbeat.last.IsZero():
		// The Lease watch may be late, so earlier heartbeats may arrive after this one.
		x.addPending(n, reads.PendingHeartbeat{Made: e.Seen, Seen: e.Seen, Report: true})
		return
	}
	x.countHeartbeat(n, e.Seen, e.Seen, ready.LastHeartbeatTime)
	n.kubelet.DetectStart()
}

// noteRenewal records a renewal. An early renewal indicates a restart of the kubelet. A renewal in a list never counts
// as early, because kubeflap may have missed the renewal before it.
func (n *node) noteRenewal(e event.Event, made, renewed time.Time) {
	h := &n.heartbeat
	if e.Type == event.Modified && !h.lastRenewTime.IsZero() {
		bySeen := time.Duration(0)
		if !h.renewalSeen.IsZero() {
			bySeen = made.Sub(h.renewalSeen)
		}
		if restart.IsEarly(h.rhythm.Interval(), renewed.Sub(h.lastRenewTime), bySeen) {
			n.kubelet.RenewedEarly(e.Seen, renewed)
		}
	}
	if e.Type == event.Listed && !h.renewalSeen.IsZero() {
		made = earlier.Convert(h.renewalSeen.Add(renewed.Sub(h.lastRenewTime)), made) // measured by the node's clock
	}
	h.lastRenewTime, h.renewalSeen = renewed, made
	n.kubelet.DetectStart()
}

// firstHeartbeat starts a node's first interval. If kubeflap has just started, the interval begins at the last known
// heartbeat. If the node is new, the interval begins now. The node controller does the same (node lifecycle controller,
// tryUpdateNodeHealth).
func (x *heartbeats) firstHeartbeat(n *node, e event.Event, ready *event.Condition) {
	h := &n.heartbeat
	h.controllerRenewTime = h.apiRenewTime
	h.firstSeen = e.Seen
	if ready != nil {
		h.reported = ready.LastHeartbeatTime
	}
	switch {
	case x.watches.First(e) && ready != nil:
		h.estimateLast(ready.LastHeartbeatTime, e.Seen)
	case !x.watches.First(e) && (h.last.IsZero() || h.estimated):
		// kubeflap may have seen the Lease before the Node.
		h.estimateLast(e.Seen, e.Seen)
		h.estimateByNode = time.Time{}
	}
	x.scheduleCheck(n)
}

// isBlind reports whether kubeflap currently cannot see heartbeats. It returns false for a watch that is cut off
// (Watches.IsCutOff), because this watch will show all heartbeats later.
func (x *heartbeats) isBlind() bool {
	return !x.watches.Up(x.source()) && !x.watches.IsCutOff(x.source())
}

func (x *Nodes) forgetLease(name string) {
	if n := x.nodes[name]; n != nil {
		// The node controller keeps its copy of the Lease, so controllerRenewTime does not change.
		n.hasLease, n.heartbeat.apiRenewTime = false, time.Time{}
		x.forgetIfGone(n)
	}
}

// LeaseWatchBroke records that the Lease watch broke. It discards evidence that the watch lags, because every resumed
// watch lags at first.
func (x *heartbeats) LeaseWatchBroke() { x.reads.WatchBroke() }

// WatchWorks records that a watch works again after a break.
func (x *heartbeats) WatchWorks(e event.Event) {
	if e.Kind == x.source() {
		x.resumed = e.Seen
	}
}
