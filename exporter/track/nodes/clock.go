package nodes

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// noteSetBack reports that a node's clock was set back. In this case, a renewTime is earlier than the renewTime that
// the node controller has saved. The node controller ignores such renewals (node lifecycle controller,
// tryUpdateNodeHealth), so it considers the node silent.
func (x *heartbeats) noteSetBack(n *node, e event.Event, l *event.Lease) {
	h := &n.heartbeat
	if h.setBack || e.Type != event.Modified || !l.Renew.Before(h.saved) || h.renewalSeen.IsZero() {
		return
	}
	h.setBack = true
	x.found.Add(transition.ClockSetBack{At: at(e.Seen), Node: n.name, By: h.saved.Sub(l.Renew) + e.Seen.Sub(h.renewalSeen)})
}
