package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/earlier"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// noteInterval updates the number of nodes per heartbeat interval. Nodes that do not exist are not counted.
func (x *Nodes) noteInterval(n *node) {
	every := time.Duration(0)
	if n.exists {
		every = n.heartbeat.rhythm.Interval()
	}
	if every == n.heartbeat.every {
		return
	}
	x.intervals.Move(n.heartbeat.every, every)
	n.heartbeat.every = every
	x.reportGracePeriod()
}

// Heartbeats describes the control plane and the heartbeat interval of the nodes.
type Heartbeats struct {
	// Interval is the longest of the nodes' normal heartbeat intervals, or 0 if there are no nodes.
	Interval time.Duration
	// Managed reports whether a cloud provider runs the control plane. If so, users cannot set its flags.
	Managed bool
}

// Heartbeats returns the longest of the nodes' normal heartbeat intervals, and whether a cloud provider runs the
// control plane.
func (x *Nodes) Heartbeats() Heartbeats {
	return Heartbeats{Interval: x.intervals.Longest(), Managed: x.grace.IsManaged()}
}

// reportGracePeriod adds a transition if the facts about the grace period have changed.
func (x *Nodes) reportGracePeriod() {
	h := x.Heartbeats()
	now := transition.GracePeriodKnown{
		At: at(x.watches.Now()), Period: x.period, Default: x.grace.Default(), Interval: h.Interval, Managed: h.Managed,
		Assumed: x.grace.Current().Source == grace.SourceDefault,
	}
	if x.watches.IsSynced(event.KindNode) {
		now.Nodes = x.intervals.Nodes() // the number is incomplete before the end of the first list
	}
	if grace.IsNews(x.settings, now) {
		x.settings = now
		x.found.Add(now)
	}
}

// sentAt returns the time at which the node sent a heartbeat that kubeflap saw at t. If the watch was broken, kubeflap
// may have seen the heartbeat much later than the node sent it. So sentAt uses byNode, the time by the node's clock, if
// byNode is plausible.
func (h *heartbeat) sentAt(t, byNode time.Time) time.Time {
	if h.estimated || h.lastByNode.IsZero() || byNode.IsZero() {
		return t
	}
	if sent := h.last.Add(byNode.Sub(h.lastByNode)); sent.After(h.last) && sent.Before(t) {
		return sent
	}
	return t
}

// estimateLast estimates the time of the last heartbeat from byClock, a time by the node's clock. It does nothing if
// kubeflap knows a later heartbeat.
func (h *heartbeat) estimateLast(byClock, seen time.Time) {
	if t := earlier.Convert(byClock, seen); t.After(h.last) {
		h.last, h.estimated, h.estimateByNode = t, true, byClock
	}
}
