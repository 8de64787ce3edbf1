package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/earlier"
	"github.com/kubeflap/kubeflap/exporter/track/looks"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/track/restart"
	"github.com/kubeflap/kubeflap/exporter/track/rhythm"
	"github.com/kubeflap/kubeflap/exporter/track/shared"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/track/window"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// heartbeats holds the heartbeat state that is common to all nodes.
type heartbeats struct {
	watches *watches.Watches
	found   *transition.List
	// period is the current grace period, or 0 if it is unknown.
	period time.Duration
	// isManaged reports whether a cloud provider runs the control plane.
	isManaged func() bool
	labelled  shared.Counts
	// resumed is the end of the last break of the watch that shows heartbeats. Heartbeat intervals start at that time
	// or later, so heartbeats during the break never count as late.
	resumed time.Time
	// measured is the time from which heartbeats arrive without delay. Until then, a resumed watch delivers the events
	// that it missed.
	measured time.Time
	// marks is a queue with the next check of each node. A check finds out whether the node's heartbeat is late or
	// missed. To save work, a new heartbeat does not reschedule the check, so a check can be too early.
	marks looks.Queue[*node]
	// reads holds the results of direct reads of Leases.
	reads   reads.Reads
	overdue overdue
	// compared is set after kubeflap has searched the first lists for lost nodes. `returns` holds the times at which
	// the Ready nodes of the first list had become Ready.
	compared bool
	returns  earlier.Returns
}

func (x *heartbeats) resume(t time.Time) {
	x.resumed, x.measured = t, watches.LiveFrom(t)
}

// heartbeat holds the state of one node's heartbeats. Heartbeats that the node controller ignores do not count (node
// lifecycle controller, tryUpdateNodeHealth).
type heartbeat struct {
	// `last` is the time of the last heartbeat, or zero. guessed is set if this time is an estimate, usually from the
	// node's clock.
	last    time.Time
	guessed bool
	// byClock is the time by the node's clock from which `last` was estimated, or zero. believed is set after the node
	// controller has confirmed byClock by setting the node to Unknown.
	byClock  time.Time
	believed bool
	// `told` is a timestamp by the node's clock: the time of the last heartbeat, or zero if unknown. timed is set if
	// the heartbeat arrived without delay. Then `last` is exact.
	told  time.Time
	timed bool
	// `earlier` holds the times of the previous heartbeats, newest first. Unknown times are zero. The times cover one
	// minute, because the API server can delay a write of the node controller for so long.
	earlier [7]time.Time
	// `since` is the time at which kubeflap began to watch the node. Heartbeats that became late before that time are
	// not counted.
	since time.Time
	// `saved` is the node controller's copy of the renewTime. `shown` is the current renewTime in the API. The two
	// differ after the node's clock was set back.
	saved, shown time.Time
	// `reported` is the lastHeartbeatTime of the Ready condition.
	reported time.Time
	// `renewed` is the renewTime of the last renewal. renewalSeen is the time of this renewal by kubeflap's clock.
	renewed, renewalSeen time.Time
	// rhythm measures the node's heartbeat intervals. `every` is the measured interval, or 0 while the node does not
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
	// pending holds the heartbeats that do not count yet, because the reason for their delay is unknown.
	pending reads.Pending
	// steady counts the node's regular status reports while Leases cannot be watched.
	steady rhythm.Steady
	// overdue is set if the node controller should have set Ready to Unknown, but has not done so.
	overdue bool
	// `look` is the time of the node's next check, or zero if the current interval needs no more checks.
	look                 time.Time
	total, lates, misses uint64
	intervals            window.Window
	// leads measures how far the node's clock is ahead of kubeflap's. Each measured value is too small by the delivery
	// time of a renewal.
	leads window.Window
}

// beat counts a heartbeat and ends the interval before it. The node sent the heartbeat at t, and kubeflap counts it at
// `seen`. byNode is the time of the heartbeat by the node's clock, or zero if unknown.
func (x *Nodes) beat(n *node, t, seen, byNode time.Time) {
	if x.provesSilence(n) {
		x.found.AddInOrder(x.lateOf(nil, n, t, seen))
	}
	h := &n.heartbeat
	spans, sent := x.spansBreak(n, t, byNode), transition.At{Time: t, Waited: seen.Sub(t)}
	switch {
	case h.last.IsZero():
	case !x.blind() && h.guessed && h.missed && x.watches.Live(x.source(), seen):
		interval := max(earlier.Interval(h.last, t, h.byClock, byNode), t.Sub(latest(x.watchedSince(n), x.resumed)))
		h.intervals.Add(t, interval)
		x.found.Add(transition.HeartbeatSeen{At: sent, Node: n.name, Interval: interval, Unwatched: true})
	case !x.blind() && (spans || !h.guessed && !h.last.Before(x.measured)):
		interval := t.Sub(h.last)
		h.intervals.Add(t, interval)
		if x.source() == event.KindNode {
			h.steady.Learn(interval)
		}
		if n.ready == event.StatusTrue && n.since.Before(h.last) && x.grace.Outlived(interval) {
			x.graceChanged()
		}
		x.found.Add(transition.HeartbeatSeen{At: sent, Node: n.name, Interval: interval})
	case h.missed:
		back := h.sentAt(t, byNode)
		x.found.Add(transition.HeartbeatsResumed{At: transition.At{Time: back, Waited: seen.Sub(back)}, Node: n.name})
	}
	copy(h.earlier[1:], h.earlier[:])
	h.earlier[0] = h.last
	if h.guessed {
		h.earlier[0] = time.Time{}
	}
	h.last, h.guessed, h.byClock = t, false, time.Time{}
	h.told, h.timed = byNode, spans || !x.blind() && !t.Before(x.measured)
	h.late, h.missed, h.overdue, h.setBack, h.believed = false, false, false, false, false
	h.total++
	x.await(n)
}

// sentAt returns the time at which the node sent a heartbeat that kubeflap saw at t. After a break of the watch, t can
// be much later. So sentAt uses byNode, the time by the node's clock, if byNode is plausible.
func (h *heartbeat) sentAt(t, byNode time.Time) time.Time {
	if h.guessed || h.told.IsZero() || byNode.IsZero() {
		return t
	}
	if sent := h.last.Add(byNode.Sub(h.told)); sent.After(h.last) && sent.Before(t) {
		return sent
	}
	return t
}

// guess estimates the time of the last heartbeat from byClock, a time by the node's clock. It does nothing if kubeflap
// knows a later heartbeat.
func (h *heartbeat) guess(byClock, seen time.Time) {
	if t := earlier.Convert(byClock, seen); t.After(h.last) {
		h.last, h.guessed, h.byClock = t, true, byClock
	}
}

// ApplyLease handles a Lease event. A renewal counts as a heartbeat if its renewTime is later than the renewTime that
// the node controller has saved.
func (x *Nodes) ApplyLease(e event.Event, l *event.Lease) {
	if e.Type == event.Read {
		x.leaseRead(x.nodes[l.Name], e, l)
		return
	}
	if x.showsLag(x.nodes[l.Name], e, l) {
		x.resume(e.Seen)
	}
	made := x.made(x.nodes[l.Name], e.Seen, l.Renew)
	x.reads.WatchShowed(made, e.Seen, l)
	x.overdue.answers.Note(e.Seen)
	x.CountLate(e.Seen) // the watch works, so a heartbeat that has not arrived is late
	if e.Type == event.Deleted {
		x.forgetLease(l.Name)
		return
	}
	n := x.named(l.Name)
	n.leaseGeneration = x.watches.Generation(e.Kind)
	h := &n.heartbeat
	n.hasLease, h.shown = true, l.Renew
	if l.DurationSeconds != h.rhythm.Duration {
		h.rhythm.Duration = l.DurationSeconds
		x.noteInterval(n)
	}
	switch {
	case x.watches.First(e):
		h.saved, h.renewed = l.Renew, l.Renew
		h.guess(l.Renew, e.Seen)
		x.await(n)
	case !h.saved.Before(l.Renew):
		x.noteSetBack(n, e, l)
	case n.exists || e.Type == event.Added:
		// The Lease of a new node can arrive before its Node.
		h.saved = l.Renew
		h.catchUp = x.noteLateRenewal(n, e, l.Renew)
		x.renew(n, made, e.Seen, l.Renew)
		if !h.renewed.IsZero() && h.rhythm.Renewals.Learn(l.Renew.Sub(h.renewed)) {
			x.noteInterval(n)
		}
		n.noteRenewal(e, made, l.Renew)
		x.caughtUp(n, e.Seen, l.Renew)
		if x.watches.Live(event.KindLease, e.Seen) {
			h.leads.Add(e.Seen, l.Renew.Sub(e.Seen))
		}
	default:
		// This Lease has no Node. The Node was deleted, or kubeflap has not seen it yet. So the start of the first
		// interval is an estimate.
		h.guessed = true
	}
}

// statusHeartbeat handles the lastHeartbeatTime of the Ready condition. Any change of that time is a heartbeat, even a
// change to an earlier time. The node controller then replaces its copy of the Lease with the current Lease (node
// lifecycle controller, tryUpdateNodeHealth).
func (x *Nodes) statusHeartbeat(n *node, e event.Event, ready *event.Condition) {
	if ready == nil || ready.Reason == reasonNeverUpdated || n.heartbeat.reported.Equal(ready.Heartbeat) {
		return
	}
	if n.heartbeat.rhythm.Reports.Learn(ready.Heartbeat.Sub(n.heartbeat.reported)) {
		x.noteInterval(n)
	}
	n.heartbeat.reported = ready.Heartbeat
	n.heartbeat.saved = n.heartbeat.shown
	n.kubelet.Reported(e.Seen)
	switch {
	case x.source() == event.KindNode:
		x.reads.WatchShowedReport(e.Seen)
		x.overdue.answers.Note(e.Seen)
		x.CountLate(e.Seen)
	case x.reads.Doubtful() && !n.heartbeat.last.IsZero():
		// The delayed Lease watch may still show earlier heartbeats.
		x.hold(n, reads.Held{Made: e.Seen, Seen: e.Seen, Report: true})
		return
	}
	x.beat(n, e.Seen, e.Seen, ready.Heartbeat)
	n.kubelet.Note()
}

// noteRenewal records a renewal. An early renewal indicates a restart of the kubelet. A renewal in a list never counts
// as early, because kubeflap may have missed the renewal before it.
func (n *node) noteRenewal(e event.Event, made, renewed time.Time) {
	h := &n.heartbeat
	if e.Type == event.Modified && !h.renewed.IsZero() {
		bySeen := time.Duration(0)
		if !h.renewalSeen.IsZero() {
			bySeen = made.Sub(h.renewalSeen)
		}
		if restart.IsEarly(h.rhythm.Interval(), renewed.Sub(h.renewed), bySeen) {
			n.kubelet.RenewedEarly(e.Seen, renewed)
		}
	}
	if e.Type == event.Listed && !h.renewalSeen.IsZero() {
		made = earlier.Convert(h.renewalSeen.Add(renewed.Sub(h.renewed)), made) // measured by the node's clock
	}
	h.renewed, h.renewalSeen = renewed, made
	n.kubelet.Note()
}

// firstHeartbeat starts a node's first interval. If kubeflap has just started, the interval begins at the last known
// heartbeat. If the node is new, the interval begins now. The node controller does the same (node lifecycle controller,
// tryUpdateNodeHealth).
func (x *heartbeats) firstHeartbeat(n *node, e event.Event, ready *event.Condition) {
	h := &n.heartbeat
	h.saved = h.shown
	h.since = e.Seen
	if ready != nil {
		h.reported = ready.Heartbeat
	}
	switch {
	case x.watches.First(e) && ready != nil:
		h.guess(ready.Heartbeat, e.Seen)
	case !x.watches.First(e) && (h.last.IsZero() || h.guessed):
		// kubeflap may have seen the Lease before the Node.
		h.guess(e.Seen, e.Seen)
		h.byClock = time.Time{}
	}
	x.await(n)
}

// blind reports whether kubeflap currently cannot see heartbeats. It returns false for a watch that is cut off
// (Watches.IsCutOff), because this watch will show all heartbeats later.
func (x *heartbeats) blind() bool {
	return !x.watches.Up(x.source()) && !x.watches.IsCutOff(x.source())
}

func (x *Nodes) forgetLease(name string) {
	if n := x.nodes[name]; n != nil {
		// The node controller keeps its copy of the Lease, so `saved` does not change.
		n.hasLease, n.heartbeat.shown = false, time.Time{}
		x.forgetIfGone(n)
	}
}

// LeaseWatchBroke records that the Lease watch broke. It discards evidence that the watch lags, because every resumed
// watch lags at first.
func (x *heartbeats) LeaseWatchBroke() { x.reads.WatchBroke() }

// WatchWorks records that a watch works again after a break.
func (x *heartbeats) WatchWorks(e event.Event) {
	if e.Kind == x.source() {
		x.resume(e.Seen)
	}
}
