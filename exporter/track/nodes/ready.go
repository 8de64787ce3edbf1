package nodes

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/unknown"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// The node lifecycle controller writes these reasons together with Ready=Unknown (tryUpdateNodeHealth).
const (
	reasonUnknown      = "NodeStatusUnknown"
	reasonNeverUpdated = "NodeStatusNeverUpdated"
)

// condition is the state of a node's Ready condition.
type condition struct {
	// `posted` is set if the node has a Ready condition. everReady is set if kubeflap has ever seen the node as Ready.
	posted, everReady bool
	ready             event.Status
	// foundUnknown is set if the node controller had set Ready to Unknown before kubeflap first saw the node.
	foundUnknown bool
	// `transition` is the lastTransitionTime of Ready. falseSince is the lastTransitionTime of the last Ready=False. If
	// Ready was never False, falseSince is the first lastTransitionTime that kubeflap saw. falseUntil is the
	// lastTransitionTime of the change that ended the last Ready=False.
	transition, falseSince, falseUntil time.Time
	// statusSince is the time since which Ready is known to have its current status. sinceSeen is set if kubeflap saw
	// the change to that status.
	statusSince time.Time
	sinceSeen   bool
	// lastFalse is the time at which Ready last changed from False to another status. lastUnknown is the time at which
	// Ready last changed from Unknown.
	lastFalse, lastUnknown time.Time
	transitions            [3]uint64
	// `unready` is the total time for which the node was not Ready. It excludes the time since the last change of
	// Ready.
	unready time.Duration
}

func firstCondition(e event.Event, ready *event.Condition) condition {
	c := condition{statusSince: e.Seen, sinceSeen: e.Type == event.Added}
	if ready != nil {
		c.posted, c.ready, c.transition = true, ready.Status, ready.LastTransitionTime
		c.everReady = c.ready == event.StatusTrue
		c.foundUnknown = e.Type == event.Listed && ready.Reason == reasonUnknown
		c.falseSince = ready.LastTransitionTime
	}
	return c
}

// applyReady handles the Ready condition. A missing condition counts as Unknown.
func (x *Nodes) applyReady(n *node, e event.Event, ready *event.Condition) (turned bool) {
	var c event.Condition
	if ready != nil {
		c = *ready
	}
	if posted := ready != nil; posted != n.posted {
		// The node controller resets its data about the node, including its copy of the Lease (node lifecycle
		// controller, tryUpdateNodeHealth).
		n.posted = posted
		n.heartbeat.controllerRenewTime = n.heartbeat.apiRenewTime
	}
	moved := !n.transition.IsZero() && !c.LastTransitionTime.IsZero() && !n.transition.Equal(c.LastTransitionTime)
	n.transition = c.LastTransitionTime
	switch at := cmp.Or(c.LastTransitionTime, e.Seen); {
	case c.Status == event.StatusFalse:
		n.falseSince = at
	case n.ready == event.StatusFalse:
		n.falseUntil = at
	}
	switch {
	case c.Status != n.ready:
		if c.Reason == reasonUnknown {
			x.markedUnknown(n, e)
		}
		live := e.Type == event.Modified && x.watches.Live(event.KindNode, e.Seen)
		age := time.Duration(0)
		if live && c.Reason == reasonUnknown {
			if age = x.markedAge(n, e.Seen, c.LastTransitionTime); age > 0 && age < x.period {
				n.markedInTime++
			}
		}
		x.changeReady(n, c.Status, e.Seen, live, age)
		n.sinceSeen = live
		return true
	case moved && e.Type == event.Listed:
		x.found.Add(x.turnedUnseen(n, e.Seen))
	}
	return false
}

// changeReady counts a change of Ready. `live` reports whether kubeflap saw the change without delay. markedAge becomes
// MarkedAge in transition.NodeLoss. The time before a new node's first Ready=True does not count as an unready episode.
func (x *Nodes) changeReady(n *node, to event.Status, t time.Time, live bool, markedAge time.Duration) {
	change := transition.NodeReadyChanged{
		At: at(t), Node: n.name, From: n.ready, To: to,
		Lasted: t.Sub(n.statusSince), Complete: n.sinceSeen && live && n.everReady,
	}
	n.everReady = n.everReady || to == event.StatusTrue
	if !n.heartbeat.last.IsZero() && x.canDetectSilence(n) {
		change.Silence = t.Sub(n.heartbeat.last)
	}
	if n.ready != event.StatusTrue {
		n.unready += x.watches.Counted(n.statusSince, t)
	}
	switch n.ready {
	case event.StatusFalse:
		n.lastFalse = t
	case event.StatusUnknown:
		n.lastUnknown = t
		if to == event.StatusTrue {
			n.returned = t
		}
	}
	n.ready, n.statusSince, n.sinceSeen = to, t, true
	n.heartbeat.overdue = false
	n.transitions[to]++
	switch to {
	case event.StatusFalse:
		change.Loss = transition.NodeLoss{Trigger: n.trigger(cause.NodeNotReady), Announced: n.departure.Announced(t)}
		n.troubled = t
	case event.StatusUnknown:
		change.Loss = x.loss(n)
		change.Loss.MarkedAge = markedAge
		n.troubled = t
	}
	x.found.Add(change)
}

// turnedUnseen counts two changes of Ready that happened during a break of the node watch. A list proves them if
// lastTransitionTime has changed but the status has not. The kubelet and the node controller set lastTransitionTime
// only when the status changes. The status in between is assumed to be Unknown if the current status is True, and True
// otherwise.
func (x *Nodes) turnedUnseen(n *node, t time.Time) transition.NodeReadyMissed {
	between := event.StatusTrue
	if n.ready == event.StatusTrue {
		between = event.StatusUnknown
	}
	n.transitions[between]++
	n.transitions[n.ready]++
	if n.ready != event.StatusTrue {
		n.unready += x.watches.Counted(n.statusSince, t)
	}
	n.statusSince, n.sinceSeen = t, false // the start of the current period is unknown
	return transition.NodeReadyMissed{
		At: at(t), Node: n.name, Status: n.ready,
		Trigger: transition.Trigger(n.uid, n.transition.UTC().Format(time.RFC3339Nano)),
	}
}

// markedUnknown handles a change to Ready=Unknown by the node controller. When it makes this change, the controller
// also saves a copy of the current Lease (node lifecycle controller, tryUpdateNodeHealth). The time since the last
// heartbeat is the grace period plus the controller's delay. It serves as a sample of the grace period.
func (x *Nodes) markedUnknown(n *node, e event.Event) {
	h := &n.heartbeat
	h.controllerRenewTime = h.apiRenewTime
	if !x.reads.Doubtful() {
		h.confirmed = true
		x.found.AddInOrder(x.appendLate(nil, n, e.Seen, e.Seen)) // the node controller also considers the node silent
	}
	seenLive := e.Type == event.Modified && x.watches.Live(event.KindNode, e.Seen) && !x.isBlind()
	if !seenLive || h.estimated || h.last.IsZero() || h.last.Before(x.liveFrom()) {
		return
	}
	x.grace.Sample(e.Seen.Sub(h.last), e.Seen, h.rhythm.Interval())
	x.graceChanged()
}

// markedAge returns the age of the newest heartbeat that the node controller had certainly seen when it set Ready to
// Unknown. It returns 0 if the age is unknown, for example because the write was delayed.
func (x *heartbeats) markedAge(n *node, seen, transition time.Time) time.Duration {
	h := &n.heartbeat
	if !x.canDetectSilence(n) || !x.watches.Live(x.source(), seen) {
		return 0
	}
	m := unknown.Mark{Seen: seen, Transition: transition}
	m.Delay, m.DelayKnown = x.overdue.controlPlane.LeaderDelay(seen)
	if h.estimated {
		return m.Age(h.previous[:], x.liveFrom())
	}
	return m.Age(append([]time.Time{h.last}, h.previous[:]...), x.liveFrom())
}

// `loss` describes the failure of a silent node. The silence counts from the time at which the first missing heartbeat
// was due.
func (x *heartbeats) loss(n *node) transition.NodeLoss {
	unseen, began := !x.canDetectSilence(n), n.heartbeat.last.Add(n.heartbeat.rhythm.Interval())
	if unseen {
		began = x.watches.Now().Add(-x.period) // the latest time at which the silence can have begun
	}
	announced := n.departure.Announced(began)
	return transition.NodeLoss{
		Trigger: n.trigger(cause.NodeHeartbeatLost), Renewed: n.heartbeat.apiRenewTime, Announced: announced, GracePeriod: x.period, Managed: x.isManaged(),
		AnnouncedAfter: announced != "" && !unseen && n.departure.Announced(n.heartbeat.last) == "",
		Labels:         x.labelled.Count(n.labels), Unseen: unseen, ControlPlane: x.overdue.controlPlane.AsOf(x.watches.Now()), Blind: x.isBlind() || !n.heartbeat.last.After(x.resumed), Last: x.lastRenewal(n),
	}
}

// trigger returns a hash that identifies a failure of the node. For a silent node, it depends on renewTime, or on
// lastHeartbeatTime if there is no Lease. For Ready=False, it depends on lastTransitionTime.
func (n *node) trigger(why cause.Cause) uint64 {
	sign := n.heartbeat.reported
	switch {
	case why == cause.NodeNotReady:
		sign = n.falseSince
	case why == cause.NodeHeartbeatLost && !n.heartbeat.apiRenewTime.IsZero():
		sign = n.heartbeat.apiRenewTime
	}
	return transition.Trigger(n.uid, sign.UTC().Format(time.RFC3339Nano))
}
