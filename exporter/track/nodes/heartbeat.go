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

// heartbeats are the heartbeats of all nodes.
type heartbeats struct {
	watches *watches.Watches
	found   *transition.List
	// period is the grace period in force, 0 while it is not known.
	period time.Duration
	// isManaged reports whether the cloud runs the control plane.
	isManaged func() bool
	labelled  shared.Counts
	// resumed is when the Lease watch worked again after its last break. Intervals are measured from then on:
	// a heartbeat that could not be seen is not late.
	resumed time.Time
	// measured is when heartbeats began to arrive when they happen. After a break
	// the watch first delivers all events that it missed, at once.
	measured time.Time
	// marks are the times at which nodes are checked, no later than their heartbeats would be late or missed. A new heartbeat moves that time, which is only
	// noticed at the check: so a heartbeat costs nothing here.
	marks looks.Queue[*node]
	// reads are what direct reads of Leases have shown.
	reads   reads.Reads
	overdue overdue
	// compared: the nodes that were lost before kubeflap watched them have been determined. returns are the times when other nodes
	// had turned Ready.
	compared bool
	returns  earlier.Returns
}

func (x *heartbeats) resume(t time.Time) {
	x.resumed, x.measured = t, watches.LiveFrom(t)
}

// heartbeat is a node's heartbeats: those that the node controller counts
// (node lifecycle controller, tryUpdateNodeHealth).
type heartbeat struct {
	// last is when the last heartbeat was seen; zero if none is known. guessed: last
	// was not observed, but is a time by the node's clock.
	last    time.Time
	guessed bool
	// told is the time on the node's clock from which last was computed; zero if it was not. believed: the node controller has
	// found the node silent since then.
	told     time.Time
	believed bool
	// earlier are the heartbeats before last, the newest first; zero if they are not known. They cover the minute for which the API
	// server lets a write of the node controller wait.
	earlier [7]time.Time
	// since is when kubeflap began to watch the node. Earlier late heartbeats are not counted.
	since time.Time
	// saved is the renewTime that the node controller holds; shown is the newest
	// in the API. They differ after a node's clock stepped back.
	saved, shown time.Time
	// reported is Ready's lastHeartbeatTime.
	reported time.Time
	// renewed and renewalSeen are when the Lease was last renewed, by the node's clock and by kubeflap's.
	renewed, renewalSeen time.Time
	// rhythm is how often it sends heartbeats; every is the interval that follows, 0 while the node does not exist.
	rhythm rhythm.Kubelet
	every  time.Duration
	// late and missed: the current interval has been counted as late, and as missed.
	late, missed bool
	// setBack: the clock of the node was set back since the last heartbeat.
	setBack bool
	// catchUp are the renewals since the last missed one, as long as the watch may have shown them late; nil if it has not.
	catchUp *reads.CatchUp
	// pending are the last heartbeats, as long as they do not count yet.
	pending reads.Pending
	// steady counts the node's regular status reports while Leases are absent.
	steady rhythm.Steady
	// overdue: the node controller should have set Ready to Unknown, and has not.
	overdue bool
	// look is when the node is checked next; zero if no mark of the current interval is left.
	look                 time.Time
	total, lates, misses uint64
	intervals            window.Window
	// leads are how far the node's clock is ahead of kubeflap's, minus the time
	// of the delivery.
	leads window.Window
}

// beat counts a heartbeat of t that is known since seen, and closes the interval that it ends. byNode is its time by the node's clock, zero if that is not
// known.
func (x *Nodes) beat(n *node, t, seen, byNode time.Time) {
	if x.tellsAlone(n) {
		x.found.AddInOrder(x.lateOf(nil, n, t, seen))
	}
	h := &n.heartbeat
	switch {
	case h.last.IsZero() || x.blind():
	case h.guessed && h.missed && x.watches.Live(x.source(), seen):
		interval := max(earlier.Interval(h.last, t, h.told, byNode), t.Sub(latest(x.watchedSince(n), x.resumed)))
		h.intervals.Add(t, interval)
		x.found.Add(transition.HeartbeatSeen{At: transition.At{Time: t, Waited: seen.Sub(t)}, Node: n.name, Interval: interval, Unwatched: true})
	case !h.guessed && !h.last.Before(x.measured):
		interval := t.Sub(h.last)
		h.intervals.Add(t, interval)
		if x.source() == event.KindNode {
			h.steady.Learn(interval)
		}
		if n.ready == event.StatusTrue && n.since.Before(h.last) && x.grace.Outlived(interval) {
			x.graceChanged()
		}
		x.found.Add(transition.HeartbeatSeen{At: transition.At{Time: t, Waited: seen.Sub(t)}, Node: n.name, Interval: interval})
	}
	copy(h.earlier[1:], h.earlier[:])
	h.earlier[0] = h.last
	if h.guessed {
		h.earlier[0] = time.Time{}
	}
	h.last, h.guessed, h.told = t, false, time.Time{}
	h.late, h.missed, h.overdue, h.setBack, h.believed = false, false, false, false, false
	h.total++
	x.await(n)
}

// guess takes a heartbeat of the first list from the node's clock.
func (h *heartbeat) guess(told, seen time.Time) {
	if t := earlier.Told(told, seen); t.After(h.last) {
		h.last, h.guessed, h.told = t, true, told
	}
}

// ApplyLease handles an event of a Lease. It is a node's heartbeat if renewTime is strictly after the one that the node controller
// holds. Renewals by a clock that stepped back do not count.
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
	x.CountLate(e.Seen) // the watch goes on, so what is late is known, of all nodes in its order
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
		// A new Lease may be seen before its new node.
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
		// A Lease without a node: a deleted node left it behind, or the
		// node has not been seen yet. Then the start of its first interval is a guess.
		h.guessed = true
	}
}

// statusHeartbeat handles the lastHeartbeatTime of the Ready condition. Any change is a heartbeat, even backwards. The node
// controller then drops the Lease that it holds and takes the current one in its next pass (tryUpdateNodeHealth).
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
		// The watch of Leases will show whether there were heartbeats before.
		x.hold(n, reads.Held{Made: e.Seen, Seen: e.Seen, Report: true})
		return
	}
	x.beat(n, e.Seen, e.Seen, ready.Heartbeat)
	n.kubelet.Note()
}

// noteRenewal finds early renewals. Only events of the watch count, since a list does not show the renewals before it.
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
		made = earlier.Told(h.renewalSeen.Add(renewed.Sub(h.renewed)), made) // by the node's clock
	}
	h.renewed, h.renewalSeen = renewed, made
	n.kubelet.Note()
}

// firstHeartbeat starts a node's first interval: at its last known heartbeat
// if kubeflap starts, and now if the node is new (tryUpdateNodeHealth, nodeHealth == nil).
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
		// Its Lease may have been seen before the node.
		h.guess(e.Seen, e.Seen)
		h.told = time.Time{}
	}
	x.await(n)
}

// blind reports whether heartbeats cannot be seen now. If the watch is only cut off, it will show all of them.
func (x *heartbeats) blind() bool {
	return !x.watches.Up(x.source()) && !x.watches.IsCutOff(x.source())
}

func (x *Nodes) forgetLease(name string) {
	if n := x.nodes[name]; n != nil {
		// The node controller keeps the Lease that it holds.
		n.hasLease, n.heartbeat.shown = false, time.Time{}
		x.forgetIfGone(n)
	}
}

// LeaseWatchBroke records that the watch of Leases broke. The watch is then known to be behind, and needs no further proof.
func (x *heartbeats) LeaseWatchBroke() { x.reads.WatchBroke() }

// WatchWorks records that a watch works again after a break.
func (x *heartbeats) WatchWorks(e event.Event) {
	if e.Kind == x.source() {
		x.resume(e.Seen)
	}
}
