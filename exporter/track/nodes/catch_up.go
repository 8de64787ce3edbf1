package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/window"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// catchUp are the renewals that a watch shows late, one after the other. By the node's clock they were in time, and together they cover the silence: so
// the watch was late and not the node. A renewal that waited for etcd does not look like that: etcd takes only one of the
// renewals that a kubelet has tried meanwhile, since the others then have an old resourceVersion, and the next one is far from it.
type catchUp struct {
	// renewed and seen are the last renewal before the silence, by the node's clock and by kubeflap's.
	renewed, seen time.Time
	// intervals are those that were measured before it.
	intervals window.Window
}

// noteLateRenewal takes in a renewal, before it counts as a heartbeat. It returns what it may be the beginning or a part of.
func (x *heartbeats) noteLateRenewal(n *node, e event.Event, renewed time.Time) *catchUp {
	h := &n.heartbeat
	switch {
	case e.Type != event.Modified, h.renewed.IsZero(), h.renewalSeen.IsZero(), renewed.Sub(h.renewed) > x.period/2:
		return nil
	case h.missed && h.catchUp == nil:
		return &catchUp{h.renewed, h.renewalSeen, h.intervals.Clone()}
	}
	return h.catchUp
}

// caughtUp reports that the watch was late, if the renewals cover the silence.
func (x *heartbeats) caughtUp(n *node, t, renewed time.Time) {
	h := &n.heartbeat
	if h.catchUp == nil {
		return
	}
	covered, silence := renewed.Sub(h.catchUp.renewed), t.Sub(h.catchUp.seen)
	if covered < silence-x.period/2 {
		return
	}
	h.intervals = h.catchUp.intervals
	h.catchUp = nil
	x.found.Add(transition.HeartbeatsWereInTime{At: at(t), Node: n.name, Silence: silence})
}
