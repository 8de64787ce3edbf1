package nodes

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// noteSetBack adds a transition if a node's clock was set back. The node controller ignores renewTimes that are earlier
// than the one it has saved (node lifecycle controller, tryUpdateNodeHealth). So it considers the node silent.
func (x *heartbeats) noteSetBack(n *node, e event.Event, l *event.Lease) {
	h := &n.heartbeat
	if h.setBack || e.Type != event.Modified || !l.RenewTime.Before(h.controllerRenewTime) || h.renewalSeen.IsZero() {
		return
	}
	h.setBack = true
	x.found.Add(transition.ClockSetBack{At: at(e.Seen), Node: n.name, By: h.controllerRenewTime.Sub(l.RenewTime) + e.Seen.Sub(h.renewalSeen)})
}
