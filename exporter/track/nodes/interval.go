package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// noteInterval updates the number of nodes for each heartbeat interval, if the node's interval has changed. Nodes that
// do not exist are not counted.
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
	x.tell()
}

// Heartbeats describes the control plane and the heartbeat interval of the nodes.
type Heartbeats struct {
	// Interval is the longest of the nodes' normal heartbeat intervals, or 0 without nodes.
	Interval time.Duration
	// Managed reports whether a cloud provider runs the control plane. If so, users cannot set its flags.
	Managed bool
}

// Heartbeats returns the heartbeat interval of the nodes and whether the control plane is managed.
func (x *Nodes) Heartbeats() Heartbeats {
	return Heartbeats{Interval: x.intervals.Longest(), Managed: x.grace.IsManaged()}
}

// tell reports the settings that determine the grace period, if they have changed.
func (x *Nodes) tell() {
	h := x.Heartbeats()
	now := transition.GracePeriodKnown{
		At: at(x.watches.Now()), Period: x.period, Default: x.grace.Default(), Interval: h.Interval, Managed: h.Managed,
		Assumed: x.grace.Current().Source == grace.SourceDefault,
	}
	if x.watches.IsSynced(event.KindNode) {
		now.Nodes = x.intervals.Nodes() // during the first list, each node changes the number
	}
	if grace.IsNews(x.settings, now) {
		x.settings = now
		x.found.Add(now)
	}
}
