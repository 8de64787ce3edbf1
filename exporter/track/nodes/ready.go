package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
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
	// wasLost is set if the first list shows that the node was Ready before, but is no more. It is unset when the node is Ready.
	wasLost bool
	// `transition` is the lastTransitionTime of Ready. The kubelet writes it, or the node controller if Ready is
	// Unknown. falseSince is the lastTransitionTime of the last Ready=False. If Ready was never False, falseSince is the
	// first lastTransitionTime that kubeflap saw. falseUntil is the lastTransitionTime of the change that ended the last
	// Ready=False.
	transition, falseSince, falseUntil event.NodeTime
	// statusSince is the time since which Ready is known to have its current status. sinceSeen is set if kubeflap saw
	// the change to that status.
	statusSince time.Time
	sinceSeen   bool
	// lastFalse is the time at which Ready last changed from False to another status. lastUnknown is the time at which
	// Ready last changed from Unknown.
	lastFalse, lastUnknown time.Time
	// lostFrom is the result of silentFrom when Ready last changed to Unknown.
	lostFrom time.Time
	// `reasons` is nil while Ready is True.
	reasons *reasons
}

// joinsWithin is the longest time from the creation of a Node to the first report of its kubelet. Some Nodes are created
// before their machines start.
const joinsWithin = 10 * time.Minute

// firstCondition returns the condition of a node that kubeflap first sees in an event. The parameter first is set if it is
// in the first list. A node that has never been Ready is not lost: it waits for its network plug-in, for example.
func firstCondition(e event.Event, o *event.Node, first bool) condition {
	c := condition{statusSince: e.Seen, sinceSeen: e.Type == event.Added}
	if ready := o.Ready; ready != nil {
		c.posted, c.ready, c.transition = true, ready.Status, event.NodeTime(ready.LastTransitionTime)
		c.everReady = c.ready == event.StatusTrue
		c.falseSince = c.transition
		switch c.ready {
		case event.StatusFalse:
			c.wasLost = first && notAfter(ready.LastTransitionTime, e.Seen).Sub(o.Created) > joinsWithin
		case event.StatusUnknown:
			c.wasLost = first && ready.Reason != reasonNeverUpdated
		case event.StatusTrue:
		}
	}
	return c
}

// applyReady handles the Ready condition. A missing condition counts as Unknown.
func (x *health) applyReady(n *node, e event.Event, ready *event.Condition) (turned bool) {
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
	written := event.NodeTime(c.LastTransitionTime)
	moved := !n.transition.IsZero() && !written.IsZero() && !n.transition.Equal(written)
	n.noteTransition(c.Status, written, e.Seen)
	switch {
	case c.Status != n.ready:
		if c.Reason == reasonUnknown {
			x.markedUnknown(n, e)
		}
		live := e.Type == event.Modified && x.watches.Live(event.KindNode, e.Seen)
		age := time.Duration(0)
		if live && c.Reason == reasonUnknown {
			age = x.markedAge(n, e.Seen, event.ControllerTime(written))
		}
		x.changeReady(n, c.Status, e.Seen, live, age)
		return true
	case moved && e.Type == event.Listed:
		x.found.Add(x.turnedUnseen(n, e.Seen))
	}
	return false
}

// noteTransition records the lastTransitionTime of Ready. If it is missing, the change happened at `seen` at the latest.
func (c *condition) noteTransition(to event.Status, written event.NodeTime, seen time.Time) {
	c.transition = written
	if written.IsZero() {
		written = event.NodeTime(seen)
	}
	switch {
	case to == event.StatusFalse:
		c.falseSince = written
	case c.ready == event.StatusFalse:
		c.falseUntil = written
	}
}

// changeReady counts a change of Ready. `live` reports whether kubeflap saw the change without delay. markedAge becomes
// MarkedAge in transition.NodeLoss. The time before a new node's first Ready=True does not count as an unready episode.
func (x *health) changeReady(n *node, to event.Status, t time.Time, live bool, markedAge time.Duration) {
	change := transition.NodeReadyChanged{
		OfNode: n.at(t), From: n.ready, To: to,
		Lasted: t.Sub(n.statusSince), Complete: n.sinceSeen && live && n.everReady,
	}
	n.everReady = n.everReady || to == event.StatusTrue
	if !n.heartbeat.last.IsZero() && x.canDetectSilence(n) {
		change.Silence = t.Sub(n.heartbeat.last)
	}
	x.addPeriodTime(n, &n.Counters, t)
	began := n.ready == event.StatusTrue
	switch n.ready {
	case event.StatusFalse:
		n.lastFalse = t
	case event.StatusUnknown:
		n.lastUnknown = t
	}
	n.ready, n.statusSince, n.sinceSeen = to, t, live
	n.heartbeat.overdue = false
	n.Turned[to]++
	switch to {
	case event.StatusFalse:
		change.Loss = transition.NodeLoss{Trigger: n.trigger(cause.NodeNotReady)}
		change.Loss.Announced = n.departure.Announced(t)
		change.Says = n.reasons.says
		n.troubled = t
	case event.StatusUnknown:
		change.Loss, n.lostFrom = x.loss(n), x.silentFrom(n)
		change.Loss.MarkedAge = markedAge
		if n.heartbeat.mayIgnore() {
			change.Loss.ClockBehind = n.heartbeat.behind
		}
		n.heartbeat.doubtUntil = event.NodeTime{} // the node controller has saved a copy of the current Lease
		n.troubled = t
	}
	switch {
	case to == event.StatusTrue:
		n.period, n.wasLost = period{}, false
	case began:
		n.beginPeriod(t, change.Loss.Announced)
	}
	x.found.Add(change)
}

// turnedUnseen counts two changes of Ready that happened during a break of the node watch. A list proves them if
// lastTransitionTime has changed but the status has not. The kubelet and the node controller set lastTransitionTime
// only when the status changes. The status in between is assumed to be Unknown if the current status is True, and True
// otherwise.
func (x *health) turnedUnseen(n *node, t time.Time) transition.NodeReadyMissed {
	between := event.StatusTrue
	if n.ready == event.StatusTrue {
		between = event.StatusUnknown
	}
	n.Turned[between]++
	n.Turned[n.ready]++
	x.addPeriodTime(n, &n.Counters, t)
	n.beginPeriod(t, n.departure.Announced(x.watches.NotBefore(event.KindNode, t)))
	n.period.counts = n.ready != event.StatusTrue
	n.statusSince, n.sinceSeen, n.everReady = t, false, true // the start of the current period is unknown
	return transition.NodeReadyMissed{OfNode: n.at(t), Status: n.ready, Trigger: n.triggerAt(n.transition)}
}

// markedUnknown handles a change to Ready=Unknown by the node controller. When it makes this change, the controller
// also saves a copy of the current Lease (node lifecycle controller, tryUpdateNodeHealth). The time since the last
// heartbeat is the grace period plus the controller's delay. It serves as a sample of the grace period.
func (x *health) markedUnknown(n *node, e event.Event) {
	h := &n.heartbeat
	h.controllerRenewTime, x.marked = h.apiRenewTime, e.Seen
	if !x.reads.Doubtful() {
		h.confirmed = true
		x.found.AddInOrder(x.appendLate(nil, n, e.Seen, e.Seen)) // the node controller also considers the node silent
	}
	seenLive := e.Type == event.Modified && x.watches.Live(event.KindNode, e.Seen) && !x.isBlind()
	if !seenLive || h.estimated || h.last.IsZero() || h.last.Before(x.liveFrom()) {
		return
	}
	x.grace.Sample(e.Seen.Sub(h.last), e.Seen, h.interval())
}

// markedAge returns the age of the newest heartbeat that the node controller had certainly seen when it set Ready to
// Unknown. It returns 0 if the age is unknown, for example because the write was delayed.
func (x *health) markedAge(n *node, seen time.Time, written event.ControllerTime) time.Duration {
	h := &n.heartbeat
	if h.mayIgnore() || !x.canDetectSilence(n) || !x.watches.Live(x.source(), seen) {
		return 0
	}
	known := h.previous[:]
	if !h.estimated {
		known = append([]time.Time{h.last}, known...)
	}
	return x.controlPlane.AgeAtMark(seen, written, known, x.liveFrom())
}
