package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// source is the resource that shows heartbeats.
func (x *heartbeats) source() event.Kind {
	if x.watches.Missing(event.KindLease) {
		return event.KindNode
	}
	return event.KindLease
}

// tells reports whether a silence of the node would show: the node has a Lease, or its reports are steady.
func (x *heartbeats) tells(n *node) bool {
	return x.source() == event.KindLease || n.heartbeat.steady.Is()
}

// tellsAlone reports whether a silence of the node proves something before the node controller marks the node.
func (x *heartbeats) tellsAlone(n *node) bool {
	return x.tells(n) && (x.source() == event.KindLease || x.watches.Absent(event.KindLease))
}

// LeasesChanged handles that Leases can no longer be watched, or can be watched again. Another resource then shows heartbeats.
func (x *Nodes) LeasesChanged(t time.Time) {
	x.resume(t)
	x.awaitAll(x.nodes, x.period)
}
