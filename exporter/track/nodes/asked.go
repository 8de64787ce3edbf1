package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/departure"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// Known reports whether a Node or its Lease has been seen.
func (x *Nodes) Known(name string) bool {
	n := x.nodes[name]
	return n != nil && (n.exists || n.hasLease)
}

// existing returns a node, or nil if the Node does not exist.
func existing(all map[string]*node, name string) *node {
	if n := all[name]; n != nil && n.exists {
		return n
	}
	return nil
}

// notReadyWindow is the time for which a node's Ready=False can explain why the node's pods become not ready. A probe
// that fails later has another cause.
const notReadyWindow = 5 * time.Minute

// reportedWithin is the longest time between the changes of a node and of its pods that have the same reason. The kubelet
// reports them in separate requests, and lastTransitionTime has a precision of one second.
const reportedWithin = 2 * time.Second

// NotReadyAt reports whether the node's kubelet reported Ready=False around t, by its own clock (kubelet, nodestatus
// ReadyCondition). It compares lastTransitionTimes, so the result does not depend on the order in which kubeflap saw the changes.
func (x *Nodes) NotReadyAt(name string, t time.Time) bool {
	n := existing(x.nodes, name)
	if n == nil {
		return false
	}
	written := event.NodeTime(t)
	since := written.Sub(n.falseSince)
	return since >= -reportedWithin && since <= notReadyWindow && (n.ready == event.StatusFalse || written.Sub(n.falseUntil) <= reportedWithin)
}

// RestartedBefore reports whether a start of the node's kubelet shortly before t can have made the node's pods not
// ready. It returns false if the kubelet started after `by`, according to its own clock.
func (x *Nodes) RestartedBefore(name string, t, by time.Time) bool {
	n := x.nodes[name]
	return n != nil && n.kubelet.madePodsFlap(t, n.lastUnknown, event.NodeTime(by))
}

// marksFor is the longest time for which the node controller writes to the pods of a node that has returned. By default, it
// writes to at most 20 pods per second (kube-controller-manager, --kube-api-qps), so after an outage of many nodes it needs
// minutes. It only writes to pods that have not changed since the node turned Unknown: the other writes are conflicts.
const marksFor = 10 * time.Minute

// CauseOfMark returns the reason why the node controller set the Ready condition of a pod to False. kubeflap saw this
// write at t. podReady is the time since which the pod had been Ready, or zero if unknown.
//
// When the controller sets a node to Unknown, it writes to all pods of the node (node lifecycle controller,
// monitorNodeHealth). While a node is not Ready, the controller also writes to each pod that changes or is bound to the
// node (node lifecycle controller, processPod).
//
// The pod watch can lag, so a status that the node had shortly before t also explains the write. The node watch can
// lag, too, so it may not show the status yet. In this case, the cause is certain only if the node has been silent for
// longer than the grace period.
//
// The controller may still write to pods when the node is Ready again, see marksFor.
func (x *Nodes) CauseOfMark(name string, t, podReady time.Time) (why cause.Cause, certain bool) {
	n := existing(x.nodes, name)
	if n == nil || x.watches.Missing(event.KindNode) {
		return cause.NodeHeartbeatLost, true
	}
	since := t.Add(-watches.LagWait)
	switch {
	case n.ready == event.StatusUnknown, n.lastUnknown.After(since) && podReady.Before(n.lastUnknown):
		return cause.NodeHeartbeatLost, true
	case n.ready == event.StatusFalse:
		return cause.NodeNotReady, true
	case n.lastUnknown.After(since) && !n.lastUnknown.Before(n.lastFalse):
		return cause.NodeHeartbeatLost, true
	case n.lastFalse.After(since):
		return cause.NodeNotReady, true
	case n.heartbeat.missed && !x.isBlind(), n.lastUnknown.After(t.Add(-marksFor)) && podReady.Before(n.lastUnknown):
		return cause.NodeHeartbeatLost, true
	}
	return cause.Unknown, false
}

// PodMarked records that the node controller set the Ready condition of a lost node's pod to False at t. Each of the
// controller's eight workers writes to all pods of a lost node before it checks another node (node lifecycle controller,
// monitorNodeHealth).
func (x *Nodes) PodMarked(t time.Time) { x.marked = t }

// Status returns the status of a node's Ready condition, and the time since which the node is known to have this status. ok
// is false if the node does not exist.
func (x *Nodes) Status(name string) (is event.Status, since time.Time, ok bool) {
	n := existing(x.nodes, name)
	if n == nil {
		return 0, time.Time{}, false
	}
	return n.ready, n.statusSince, true
}

// Lost returns the names of the nodes that have sent no heartbeat for longer than the grace period.
func (x *Nodes) Lost() map[string]bool {
	lost := map[string]bool{}
	for name, n := range x.nodes {
		if n.exists && n.heartbeat.missed && !x.isBlind() {
			lost[name] = true
		}
	}
	return lost
}

// departureOf returns the departure of a node, even if the Node was deleted recently, and the time to ask it about. What
// was announced when a Node was deleted counts until its pods are gone.
func (x *Nodes) departureOf(name string, t time.Time) (*departure.Departure, time.Time) {
	n := x.nodes[name]
	switch {
	case n == nil, !n.exists && t.Sub(n.deleted) > departedFor:
		return &departure.Departure{}, t
	case !n.exists && n.deleted.Before(t):
		return &n.departure, n.deleted
	}
	return &n.departure, t
}

// Announced describes the announcement of the node's removal, drain or reboot that was in effect at t, such as a taint.
// It returns an empty string if there was no announcement.
func (x *Nodes) Announced(name string, t time.Time) string {
	d, t := x.departureOf(name, t)
	return d.Announced(t)
}

// AnnouncedFailure is like Announced, for a failure of the node that made a pod not ready at t. The announcement must have
// come before the node fell silent. If kubeflap did not see that, this was a grace period before at the latest.
func (x *Nodes) AnnouncedFailure(name string, why cause.Cause, t time.Time) string {
	if why != cause.NodeHeartbeatLost {
		return x.Announced(name, t)
	}
	silent := t.Add(-x.grace.Period)
	if n := x.nodes[name]; n != nil && !n.lostFrom.IsZero() && (n.ready == event.StatusUnknown || n.lastUnknown.After(t.Add(-marksFor))) {
		silent = n.lostFrom
	}
	d, silent := x.departureOf(name, silent)
	return d.AnnouncedSilence(silent)
}

// AnnouncedShutdown is like Announced, for a pod that the node's kubelet evicts at t, because the node shuts down or lacks
// something. A cordon does not announce that while the node's pods stay. Ask before this pod counts as gone.
func (x *Nodes) AnnouncedShutdown(name string, t time.Time) string {
	d, t := x.departureOf(name, t)
	return d.AnnouncedSilence(t)
}

// AnnouncedEviction is like Announced, for a pod that was evicted through the Eviction API at t.
func (x *Nodes) AnnouncedEviction(name string, t time.Time) string {
	d, t := x.departureOf(name, t)
	return d.AnnouncedEviction(t)
}

// Trigger returns a value that identifies the node's failure. `why` is the cause of the failure. ok is false if the
// Node does not exist.
func (x *Nodes) Trigger(name string, why cause.Cause) (trigger uint64, ok bool) {
	n := existing(x.nodes, name)
	if n == nil {
		return 0, false
	}
	return n.trigger(why), true
}
