package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// heartbeatWatch is what all nodes' heartbeats have in common.
type heartbeatWatch struct {
	grace time.Duration
	// resumed is when the Lease watch worked again after its last break: no
	// heartbeat is late before it could have been seen.
	resumed time.Time
	// measured is from when on heartbeats arrive when they happen: after a break
	// the watch first delivers what it had missed, all at once.
	measured time.Time
	// marks are when nodes are to be looked at.
	marks marks
	// reads are what direct reads of Leases have shown.
	reads leaseReads
}

func (h *heartbeatWatch) resume(t time.Time) {
	h.resumed, h.measured = t, watches.LiveFrom(t)
}

// heartbeat is a node's heartbeats: those that the node controller counts
// (node lifecycle controller, tryUpdateNodeHealth).
type heartbeat struct {
	// last is when the last one was seen; zero if none is known. guessed says that it
	// was not seen but taken from the node's clock, in the first list.
	last    time.Time
	guessed bool
	// since is when kubeflap began to look: what was late before is not counted.
	since time.Time
	// saved is the renewTime the node controller holds, shown the newest there
	// is: after a node's clock stepped back they differ.
	saved, shown time.Time
	// reported is Ready's lastHeartbeatTime.
	reported time.Time
	// renewed is when the Lease was last renewed, by the node's clock, and renewalSeen by kubeflap's; offBeat
	// when that last was early, posted when the status was last reported.
	renewed, renewalSeen, offBeat, posted time.Time
	// late and missed say that the running interval has been counted as such.
	late, missed bool
	// look is when the node is looked at next; zero if no mark is left to be passed.
	look                 time.Time
	total, lates, misses uint64
	intervals            window
	// leads are by how much the node's clock is ahead of kubeflap's, less the time
	// that the delivery took.
	leads window
}

// beat counts a heartbeat seen at t and closes the interval that it ends.
func (x *Nodes) beat(n *node, t time.Time) {
	x.report(x.lateOf(nil, n, t))
	h := &n.heartbeat
	if !h.last.IsZero() && !h.guessed && !h.last.Before(x.beats.measured) && !x.blind() {
		interval := t.Sub(h.last)
		h.intervals.add(t, interval)
		if n.ready == event.StatusTrue && n.since.Before(h.last) && x.grace.outlived(interval) {
			x.graceChanged()
		}
		x.found.Add(transition.HeartbeatSeen{At: at(t), Node: n.name, Interval: interval})
	}
	h.last, h.guessed = t, false
	h.late, h.missed = false, false
	h.total++
	x.await(n)
}

// guess takes a heartbeat of the first list from the node's clock: never later than now, and from now on by kubeflap's clock, whatever
// becomes of that.
func (h *heartbeat) guess(t, seen time.Time) {
	if t.IsZero() {
		return
	}
	if t.After(seen) {
		t = seen
	}
	if t = seen.Add(t.Sub(seen)); t.After(h.last) {
		h.last, h.guessed = t, true
	}
}

// ApplyLease takes in an event of a Lease: a node's heartbeat if renewTime is strictly after
// the one that the node controller holds. A clock that stepped back renews in vain.
func (x *Nodes) ApplyLease(e event.Event, l *event.Lease) {
	if e.Type == event.Read {
		x.leaseRead(e, l)
		return
	}
	if x.showsLag(e, l) {
		x.beats.resume(e.Seen)
	}
	x.beats.reads.watchShowed(e.Seen, l)
	x.CountLate(e.Seen) // the watch goes on, so what is late is known, of all nodes in its order
	if e.Type == event.Deleted {
		x.forgetLease(l.Name)
		return
	}
	n := x.named(l.Name)
	n.leaseGeneration = x.watches.Generation(e.Kind)
	h := &n.heartbeat
	n.hasLease, h.shown = true, l.Renew
	switch {
	case x.watches.First(e):
		h.saved, h.renewed = l.Renew, l.Renew
		h.guess(l.Renew, e.Seen)
		x.await(n)
	case !h.saved.Before(l.Renew):
	case n.exists || e.Type == event.Added:
		// A new Lease may be seen before its new node.
		h.saved = l.Renew
		x.beat(n, e.Seen)
		n.noteRenewal(e, l.Renew)
		if x.watches.Live(event.KindLease, e.Seen) {
			h.leads.add(e.Seen, l.Renew.Sub(e.Seen))
		}
	default:
		// Renewed without a node, it is what a deleted node left behind, or the
		// node has not been seen yet: where its first interval starts is then a guess.
		h.guessed = true
	}
}

// statusHeartbeat folds Ready's lastHeartbeatTime: any change of it is a heartbeat,
// backwards too. The node controller then forgets the Lease it holds and takes the
// one there is in its next pass (tryUpdateNodeHealth).
func (x *Nodes) statusHeartbeat(n *node, e event.Event, ready *event.Condition) {
	if ready == nil || ready.Reason == reasonNeverUpdated || n.heartbeat.reported.Equal(ready.Heartbeat) {
		return
	}
	n.heartbeat.reported = ready.Heartbeat
	n.heartbeat.saved = n.heartbeat.shown
	n.heartbeat.posted = e.Seen
	x.beat(n, e.Seen)
	n.noteStart()
}

// A kubelet that starts renews its Lease and reports its status at once (kubelet,
// fastStatusUpdateOnce; lease controller, Run): before the next beat of its Lease, and
// both within seconds. Of themselves they are 10 s and 5 minutes apart. Only early is off the beat: a slow kubelet
// is late all the time. The renewal must be early by the node's clock, 10.0 to 10.4 s and the time that it takes, and by
// kubeflap's, with the time of the delivery: a clock that is set shows in one of them only.
const (
	beatFrom      = 9900 * time.Millisecond
	seenFrom      = 9500 * time.Millisecond
	startedWithin = 5 * time.Second
)

// noteRenewal looks for the beat only in what the watch tells: between two lists renewals are missing.
func (n *node) noteRenewal(e event.Event, renewed time.Time) {
	h := &n.heartbeat
	early := !h.renewed.IsZero() && renewed.Sub(h.renewed) < beatFrom && (h.renewalSeen.IsZero() || e.Seen.Sub(h.renewalSeen) < seenFrom)
	if e.Type == event.Modified && early {
		h.offBeat = e.Seen
	}
	h.renewed, h.renewalSeen = renewed, e.Seen
	n.noteStart()
}

func (n *node) noteStart() {
	h := &n.heartbeat
	if h.offBeat.IsZero() || h.posted.IsZero() || h.offBeat.Sub(h.posted).Abs() > startedWithin {
		return
	}
	n.kubeletStarted = h.offBeat
	if h.posted.After(h.offBeat) {
		n.kubeletStarted = h.posted
	}
}

// firstHeartbeat is where a node's first interval starts: at the last heartbeat it tells of
// when kubeflap starts, and now when it is new (tryUpdateNodeHealth, nodeHealth == nil).
func (x *Nodes) firstHeartbeat(n *node, e event.Event, ready *event.Condition) {
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
		// Its Lease may have been seen before it.
		h.guess(e.Seen, e.Seen)
	}
	x.await(n)
}

// blind reports that no heartbeat could be seen now if there were one.
func (x *Nodes) blind() bool { return !x.watches.Up(event.KindLease) }

func (x *Nodes) forgetLease(name string) {
	if n := x.nodes[name]; n != nil {
		// The node controller keeps the one that it holds.
		n.hasLease, n.heartbeat.shown = false, time.Time{}
		x.forgetIfGone(n)
	}
}

// LeaseWatchBroke takes in that the watch of Leases broke: that it is behind is known now.
func (x *Nodes) LeaseWatchBroke() { x.beats.reads.ahead = nil }

// LeaseWatchWorks takes in that the watch of Leases works again after a break.
func (x *Nodes) LeaseWatchWorks(t time.Time) { x.beats.resume(t) }
