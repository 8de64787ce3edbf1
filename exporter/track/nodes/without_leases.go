package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// source returns the resource that shows heartbeats.
func (x *heartbeats) source() event.Kind {
	if x.watches.Missing(event.KindLease) {
		return event.KindNode
	}
	return event.KindLease
}

// notices reports whether missed heartbeats of the node would be noticed: Leases are watched, or the node reports its
// status at a steady interval.
func (x *heartbeats) notices(n *node) bool {
	return x.source() == event.KindLease || n.heartbeat.steady.Is()
}

// provesSilence reports whether missing heartbeats prove that the node is silent, even if the node controller has not
// set the node to Unknown.
func (x *heartbeats) provesSilence(n *node) bool {
	return x.notices(n) && (x.source() == event.KindLease || x.watches.Absent(event.KindLease))
}

// LeasesChanged handles the loss or the return of the Lease watch, after which heartbeats come from another resource.
func (x *Nodes) LeasesChanged(t time.Time) {
	x.resume(t)
	x.awaitAll(x.nodes, x.period)
}
