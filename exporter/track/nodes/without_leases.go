package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Where Leases cannot be watched, status reports are all that is seen of heartbeats. If the cluster has no Leases, they are the heartbeats, and the node
// controller goes by them as well. A kubelet reports a changed status every 10 s, and an unchanged one only every 5 min (kubelet, nodeStatusUpdateFrequency
// and nodeStatusReportFrequency), or every 10 s as well if it has no Leases. So only the silence of a node shows something whose reports have been
// steady. If Leases exist and kubeflap may not see them, reports prove nothing: a busy node reports every 10 s, and stops when it is idle.
const (
	// steadyWithin is the longest interval of a steady report, which is delayed like a renewal.
	steadyWithin = 11500 * time.Millisecond
	// steadyFrom is how many reports must be steady, steadyMost how many count: after a silence, some are enough. 5 min of them are not a
	// node that is busy by chance.
	steadyFrom = 30
	steadyMost = 40
)

// source is the resource that shows heartbeats.
func (x *heartbeats) source() event.Kind {
	if x.watches.Absent(event.KindLease) {
		return event.KindNode
	}
	return event.KindLease
}

// noteSteadiness notes the interval between two reports.
func (h *heartbeat) noteSteadiness(interval time.Duration) {
	if interval <= steadyWithin {
		h.steady = min(h.steady+1, steadyMost)
		return
	}
	h.steady = max(h.steady-(steadyMost-steadyFrom), 0)
}

// tells reports whether silence of the node would show: it has a Lease, or its reports are steady.
func (x *heartbeats) tells(n *node) bool {
	switch {
	case !x.watches.Missing(event.KindLease):
		return true
	case !x.watches.Absent(event.KindLease):
		return false
	}
	return n.heartbeat.steady >= steadyFrom
}

// LeasesChanged takes in that Leases can no longer be watched, or can be again: another resource shows heartbeats.
func (x *Nodes) LeasesChanged(t time.Time) {
	x.resume(t)
	x.awaitAll(x.nodes, x.period)
}
