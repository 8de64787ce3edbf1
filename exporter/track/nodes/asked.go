package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// Known reports whether a Node or its Lease has been seen.
func (x *Nodes) Known(name string) bool { return x.nodes[name] != nil }

// notReadyWindow is the time after a node's Ready=False in which its pods can follow. By then, their probes have failed
// or never will.
const notReadyWindow = 5 * time.Minute

// NotReadyAt reports whether the node's own kubelet reported Ready=False shortly before t (kubelet, nodestatus
// ReadyCondition). by is the latest possible time of the report by the kubelet's own clock. Zero means no limit.
func (x *Nodes) NotReadyAt(name string, t, by time.Time) bool {
	n := x.nodes[name]
	return n != nil && n.exists && n.ready == event.StatusFalse && t.Sub(n.since) <= notReadyWindow &&
		(by.IsZero() || n.falseSince.IsZero() || !n.falseSince.After(by))
}

// RestartedBefore reports whether the node's kubelet started shortly before t and has a version whose restart makes
// pods not ready. by is as in NotReadyAt.
func (x *Nodes) RestartedBefore(name string, t, by time.Time) bool {
	n := x.nodes[name]
	return n != nil && n.kubelet.MadePodsFlap(t, n.returned, by)
}

// CauseOfMark returns the reason why the node controller marked a pod of the node not ready. The mark was seen at t, and
// the pod had been Ready since podReady, zero if unknown. The controller marks all pods of a node that it sets to
// Unknown (node lifecycle controller, monitorNodeHealth). It also marks single pods that change, or are bound to the
// node, while Ready is not True (processPod). A pod that was Ready before the node was last Unknown was marked then,
// even if the pod watch lags and the node has changed since. If the node was last seen Ready, the node watch lags, and
// the cause is only certain if the node has exceeded the grace period.
func (x *Nodes) CauseOfMark(name string, t, podReady time.Time) (why cause.Cause, certain bool) {
	n := x.nodes[name]
	if n == nil || !n.exists || x.watches.Missing(event.KindNode) {
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
	case n.heartbeat.missed && !x.blind():
		return cause.NodeHeartbeatLost, true
	}
	return cause.Unknown, false
}

// ReadySince returns the start of the period in which a node is known to be Ready. ok is false if it is not Ready.
func (x *Nodes) ReadySince(name string) (since time.Time, ok bool) {
	n := x.nodes[name]
	if n == nil || !n.exists || n.ready != event.StatusTrue {
		return time.Time{}, false
	}
	return n.since, true
}

// UnreadySince returns the start of the period in which a node is known not to be Ready, and its status. ok is false if
// it is Ready or unknown.
func (x *Nodes) UnreadySince(name string) (since time.Time, status event.Status, ok bool) {
	n := x.nodes[name]
	if n == nil || !n.exists || n.ready == event.StatusTrue {
		return time.Time{}, 0, false
	}
	return n.condition.since, n.ready, true
}

// Lost returns the names of the nodes that have sent no heartbeat for longer than the grace period.
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

// Announced describes a node's departure announcement that applied at t, or is empty.
func (x *Nodes) Announced(name string, t time.Time) string {
	n := x.nodes[name]
	if n == nil || !n.exists {
		return ""
	}
	return n.departure.Announced(t)
}

// Trigger identifies the node failure that caused a loss. ok is false if there is no such Node.
func (x *Nodes) Trigger(name string, why cause.Cause) (trigger uint64, ok bool) {
	n := x.nodes[name]
	if n == nil || !n.exists {
		return 0, false
	}
	return n.trigger(why), true
}
