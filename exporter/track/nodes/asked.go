package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// Known reports whether a Node or its Lease was seen.
func (x *Nodes) Known(name string) bool { return x.nodes[name] != nil }

// notReadyWindow is how long after its node a pod may follow: by then its probes have failed, or they never will.
const notReadyWindow = 5 * time.Minute

// NotReadyAt reports whether the node's own kubelet reported Ready=False shortly before t (kubelet, nodestatus ReadyCondition), and not later than
// by on the kubelet's own clock; a zero by is not compared.
func (x *Nodes) NotReadyAt(name string, t, by time.Time) bool {
	n := x.nodes[name]
	return n != nil && n.exists && n.ready == event.StatusFalse && t.Sub(n.since) <= notReadyWindow &&
		(by.IsZero() || n.falseSince.IsZero() || !n.falseSince.After(by))
}

// RestartedBefore reports whether the node's kubelet started shortly before t, and is of a version whose restart makes pods not ready. by is as in NotReadyAt.
func (x *Nodes) RestartedBefore(name string, t, by time.Time) bool {
	n := x.nodes[name]
	return n != nil && n.kubelet.MadePodsFlap(t, n.returned, by)
}

// CauseOfMark is why the node controller marked a pod of the node not ready at t. The controller marks all pods of a node whose Ready it
// sets to Unknown (node lifecycle controller, monitorNodeHealth), and single pods that change, or are bound to the node, while Ready is not True for any reason
// (processPod). If the node was last seen Ready, the watch of nodes lags and the cause is not certain, unless the node has missed the grace period.
func (x *Nodes) CauseOfMark(name string, t time.Time) (why cause.Cause, certain bool) {
	n := x.nodes[name]
	if n == nil || !n.exists || x.watches.Missing(event.KindNode) {
		return cause.NodeHeartbeatLost, true
	}
	since := t.Add(-watches.LagWait)
	switch {
	case n.ready == event.StatusUnknown:
		return cause.NodeHeartbeatLost, true
	case n.ready == event.StatusFalse:
		return cause.NodeNotReady, true
	case n.lastUnknown.After(since) && !n.lastUnknown.Before(n.lastFalse):
		return cause.NodeHeartbeatLost, true
	case n.lastFalse.After(since):
		return cause.NodeNotReady, true
	case n.heartbeat.missed && !x.blind():
		return cause.NodeHeartbeatLost, true
	}
	return cause.Unknown, false
}

// ReadySince is since when a node is Ready; ok is false if it is not.
func (x *Nodes) ReadySince(name string) (since time.Time, ok bool) {
	n := x.nodes[name]
	if n == nil || !n.exists || n.ready != event.StatusTrue {
		return time.Time{}, false
	}
	return n.since, true
}

// UnreadySince is since when a node is not Ready, and its status; ok is false if it is Ready or not known.
func (x *Nodes) UnreadySince(name string) (since time.Time, status event.Status, ok bool) {
	n := x.nodes[name]
	if n == nil || !n.exists || n.ready == event.StatusTrue {
		return time.Time{}, 0, false
	}
	return n.condition.since, n.ready, true
}

// Lost are the names of the nodes that have sent no heartbeat for longer than the grace period.
func (x *Nodes) Lost(t time.Time) map[string]bool {
	lost := map[string]bool{}
	for name, n := range x.nodes {
		start := x.intervalStart(n)
		if n.exists && n.heartbeat.missed && !start.IsZero() && x.period > 0 && !x.blind() && t.Sub(start) > x.period {
			lost[name] = true
		}
	}
	return lost
}

// Announced says what had announced the departure of a node by t; empty if nothing had.
func (x *Nodes) Announced(name string, t time.Time) string {
	n := x.nodes[name]
	if n == nil || !n.exists {
		return ""
	}
	return n.departure.Announced(t)
}

// Trigger identifies what happened to a node, for a loss whose cause lies in it; ok is false if there is no such Node.
func (x *Nodes) Trigger(name string, why cause.Cause) (trigger uint64, ok bool) {
	n := x.nodes[name]
	if n == nil || !n.exists {
		return 0, false
	}
	return n.trigger(why), true
}
