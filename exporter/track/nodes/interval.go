package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// noteInterval updates the counted interval of a node, which may have changed. Nodes that do not exist are not counted.
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

// Heartbeats is how the control plane and the nodes are set up.
type Heartbeats struct {
	// Interval is how often the nodes send heartbeats while nothing delays them: the longest of all nodes, 0 without nodes.
	Interval time.Duration
	// Managed: the cloud runs the control plane, so nobody can set its flags.
	Managed bool
}

// Heartbeats is how the control plane and the nodes are set up.
func (x *Nodes) Heartbeats() Heartbeats {
	return Heartbeats{Interval: x.intervals.Longest(), Managed: x.grace.IsManaged()}
}

// tell reports the settings that decide about the grace period, if they have changed.
func (x *Nodes) tell() {
	h := x.Heartbeats()
	now := transition.GracePeriodKnown{
		At: at(x.watches.Now()), Period: x.period, Default: x.grace.Default(), Interval: h.Interval, Managed: h.Managed,
		Assumed: x.grace.Current().Source == grace.SourceDefault,
	}
	if x.watches.IsSynced(event.KindNode) {
		now.Nodes = x.intervals.Nodes() // not one by one in the first list
	}
	if grace.IsNews(x.told, now) {
		x.told = now
		x.found.Add(now)
	}
}
