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
	// resumed is the time at which the heartbeat watch resumed after its last break. Heartbeat intervals start at that
	// time or later. kubeflap could not see heartbeats during the break, so such heartbeats never count as late.
	resumed time.Time
	// measured is the time from which heartbeats arrive without delay. A resumed watch first delivers all missed events
	// at once.
	measured time.Time
	// marks holds the next check of each node. The check is due when the node's next heartbeat becomes late or missed,
	// or earlier. To save work, a new heartbeat does not reschedule the check. Instead, the check finds out whether a
	// heartbeat has arrived.
	marks looks.Queue[*node]
	// reads holds the results of direct reads of Leases.
	reads   reads.Reads
	overdue overdue
	// compared is set after kubeflap has searched the first lists for lost nodes. returns holds, for each Ready node of
	// the first list, the time at which the node became Ready.
	compared bool
	returns  earlier.Returns
}

func (x *heartbeats) resume(t time.Time) {
	x.resumed, x.measured = t, watches.LiveFrom(t)
}

// heartbeat holds one node's heartbeats. It only includes heartbeats that the node controller counts (node lifecycle
// controller, tryUpdateNodeHealth).
type heartbeat struct {
	// last is the time of the last heartbeat, or zero. guessed is set if this time was not observed but estimated,
	// usually from the node's clock.
	last    time.Time
	guessed bool
	// byClock is the time on the node's clock from which `last` was estimated, or zero. believed is set if the node
	// controller confirms byClock by setting the node to Unknown.
	byClock  time.Time
	believed bool
	// told is the time of the last heartbeat by the node's own clock, or zero if unknown. timed is set if that
	// heartbeat arrived without delay, so that `last` is exact.
	told  time.Time
	timed bool
	// earlier holds the times of the heartbeats before the last one, newest first. Unknown times are zero. The times
	// cover one minute, because the API server can delay a write of the node controller by up to one minute.
	earlier [7]time.Time
	// since is the time at which kubeflap began to watch the node. Heartbeats that became late before that time are not
	// counted.
	since time.Time
	// saved is the renewTime that the node controller has saved. shown is the newest renewTime in the API. The two
	// differ after the node's clock has been set back.
	saved, shown time.Time
	// reported is Ready's lastHeartbeatTime.
	reported time.Time
	// renewed is the time of the last Lease renewal by the node's clock. renewalSeen is the same time by kubeflap's
	// clock.
	renewed, renewalSeen time.Time
	// rhythm measures the node's heartbeat intervals. `every` is the measured interval, or 0 while the node does not
	// exist.
	rhythm rhythm.Kubelet
	every  time.Duration
	// late is set if the current interval has been counted as late. missed is set if it has been counted as missed.
	late, missed bool
	// setBack is set if the node's clock was set back since the last heartbeat.
	setBack bool
	// catchUp checks, after a missed heartbeat, whether the watch was late and not the node. It is nil if no such check
	// is in progress.
	catchUp *reads.CatchUp
	// pending holds the heartbeats that do not count yet, because the reason for their delay is unknown.
	pending reads.Pending
	// steady counts the node's regular status reports while Leases cannot be watched.
	steady rhythm.Steady
	// overdue is set if the node controller should have set Ready to Unknown, but has not done so.
	overdue bool
	// look is the time of the node's next check, or zero if the current interval needs no more checks.
	look                 time.Time
	total, lates, misses uint64
	intervals            window.Window
	// leads holds measurements of how far the node's clock was ahead of kubeflap's. Each value is too small by the
	// delivery time of a renewal.
	leads window.Window
}

// beat counts a heartbeat and closes the interval before it. The node sent the heartbeat at t, and kubeflap could first
// count it at `seen`. byNode is the time of the heartbeat by the node's clock, or zero if unknown.
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

// sentAt returns the time at which the node sent a heartbeat that kubeflap saw at t. A list can show a heartbeat long
// after the node sent it. So sentAt uses byNode, the time of the heartbeat by the node's clock, unless that clock was
// set.
func (h *heartbeat) sentAt(t, byNode time.Time) time.Time {
	if h.guessed || h.told.IsZero() || byNode.IsZero() {
		return t
	}
	if sent := h.last.Add(byNode.Sub(h.told)); sent.After(h.last) && sent.Before(t) {
		return sent
	}
	return t
}

// guess estimates the time of the last heartbeat from byClock, a time on the node's clock. It does nothing if kubeflap
// knows a later heartbeat.
func (h *heartbeat) guess(byClock, seen time.Time) {
	if t := earlier.Convert(byClock, seen); t.After(h.last) {
		h.last, h.guessed, h.byClock = t, true, byClock
	}
}

// ApplyLease handles a Lease event. The event is a heartbeat if its renewTime is strictly later than the renewTime that
// the node controller has saved. So renewals do not count for a while after the node's clock was set back.
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
		// This Lease has no Node. Either a deleted node left it behind, or the node has not been seen yet. In both
		// cases the start of the first interval is a guess.
		h.guessed = true
	}
}

// statusHeartbeat handles the lastHeartbeatTime of the Ready condition. Any change of that time is a heartbeat, even a
// step back. After a change, the node controller discards its saved copy of the node's Lease. It saves the current
// Lease in its next pass (tryUpdateNodeHealth).
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
		// The Lease watch will show whether there were earlier heartbeats.
		x.hold(n, reads.Held{Made: e.Seen, Seen: e.Seen, Report: true})
		return
	}
	x.beat(n, e.Seen, e.Seen, ready.Heartbeat)
	n.kubelet.Note()
}

// noteRenewal records a renewal, and detects an early renewal, which indicates a restart of the kubelet. A renewal in a
// list is never early, because the list does not show the renewals before it.
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
// heartbeat. If the node is new, the interval begins now (tryUpdateNodeHealth, nodeHealth == nil).
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
		// The node's Lease may have been seen before the node.
		h.guess(e.Seen, e.Seen)
		h.byClock = time.Time{}
	}
	x.await(n)
}

// blind reports whether kubeflap currently cannot see heartbeats. A watch that is only cut off (Watches.IsCutOff) is
// not blind, because it will show all heartbeats later.
func (x *heartbeats) blind() bool {
	return !x.watches.Up(x.source()) && !x.watches.IsCutOff(x.source())
}

func (x *Nodes) forgetLease(name string) {
	if n := x.nodes[name]; n != nil {
		// The node controller keeps its saved copy of the Lease.
		n.hasLease, n.heartbeat.shown = false, time.Time{}
		x.forgetIfGone(n)
	}
}

// LeaseWatchBroke records that the Lease watch broke. It drops the evidence of a lag, because every resumed watch lags
// at first.
func (x *heartbeats) LeaseWatchBroke() { x.reads.WatchBroke() }

// WatchWorks records that a watch works again after a break.
func (x *heartbeats) WatchWorks(e event.Event) {
	if e.Kind == x.source() {
		x.resume(e.Seen)
	}
}
