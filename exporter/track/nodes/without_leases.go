package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Where Leases cannot be watched, status reports are the heartbeats. If the cluster has no Leases, the node controller goes by them as well. A kubelet
// reports a changed status every 10 s, and an unchanged one only every 5 min (kubelet, nodeStatusUpdateFrequency and
// nodeStatusReportFrequency), or every 10 s as well if it has no Leases. So only the silence of a node shows something whose reports have been
// steady. If Leases exist and kubeflap may not see them, a node may also be busy and then idle: its silence counts once the node controller has
// found it silent, too.
const (
	// steadyWithin is the longest interval of a steady report, which is delayed like a renewal.
	steadyWithin = 11500 * time.Millisecond
	// steadyFrom is how many reports must be steady, steadyMost how many count: after a silence, some are enough.
	steadyFrom = 18
	steadyMost = 24
)

// source is the resource that shows heartbeats.
func (x *heartbeats) source() event.Kind {
	if x.watches.Missing(event.KindLease) {
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
	return x.source() == event.KindLease || n.heartbeat.steady >= steadyFrom
}

// tellsAlone reports whether silence of the node shows something before the node controller marks it.
func (x *heartbeats) tellsAlone(n *node) bool {
	return x.tells(n) && (x.source() == event.KindLease || x.watches.Absent(event.KindLease))
}

// LeasesChanged takes in that Leases can no longer be watched, or can be again: another resource shows heartbeats.
func (x *Nodes) LeasesChanged(t time.Time) {
	x.resume(t)
	x.awaitAll(x.nodes, x.period)
}
