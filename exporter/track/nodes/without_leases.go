package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// `source` returns the resource that kubeflap watches for heartbeats.
func (x *heartbeats) source() event.Kind {
	if x.watches.Missing(event.KindLease) {
		return event.KindNode
	}
	return event.KindLease
}

// canDetectSilence reports whether kubeflap would notice missed heartbeats of the node. This requires a Lease watch, or
// regular status reports of the node.
func (x *heartbeats) canDetectSilence(n *node) bool {
	return x.source() == event.KindLease || n.heartbeat.steady.Is()
}

// provesSilence reports whether missing heartbeats prove that the node is silent, even before the node controller sets
// it to Unknown.
func (x *heartbeats) provesSilence(n *node) bool {
	return x.canDetectSilence(n) && (x.source() == event.KindLease || x.watches.Absent(event.KindLease))
}

// LeasesChanged records that kubeflap can no longer watch Leases, or can watch them again. From now on, heartbeats come
// from another resource.
func (x *Nodes) LeasesChanged(t time.Time) {
	x.resumed = t
	x.rescheduleChecks(x.nodes, x.period)
}
