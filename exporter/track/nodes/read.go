package nodes

import (
	"math"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/departure"
)

// Node is a node's state at the time of the query.
type Node struct {
	Name string
	// Created is the time at which kubeflap first saw the node and began to count.
	Created time.Time
	// HeartbeatKnown is set if the last heartbeat is known. HeartbeatAge is the time since that heartbeat.
	HeartbeatKnown bool
	HeartbeatAge   time.Duration
	// LongestInterval is the longest interval between heartbeats in the last ten minutes, including the current
	// interval.
	LongestInterval time.Duration
	Ready           event.Status
	Counters
	// ClockOffset is the shortest delay from a renewTime to the renewal's arrival, over the last ten minutes.
	// ClockKnown is set if ClockOffset is known.
	ClockOffset time.Duration
	ClockKnown  bool
	// Departing says how the node's removal, drain or reboot was announced. It is empty if there is no announcement.
	Departing departure.Reason
}

// Counters counts what happened to a node.
type Counters struct {
	LateHeartbeats, MissedHeartbeats uint64
	// Turned counts the changes of Ready, by the new status.
	Turned [3]uint64
	// Planned counts the periods in which the node was not Ready after its departure had been announced. Unplanned counts
	// all others. Inside this package, both exclude the time since the last change of Ready.
	Unplanned, Planned Periods
}

// All appends the nodes, sorted by name, to the given slice and returns the extended slice.
func (x *Nodes) All(into []Node) []Node {
	all := x.inOrder()
	into = slices.Grow(into, len(all))
	for _, n := range all {
		if n.exists {
			into = append(into, x.read(n, x.watches.Now()))
		}
	}
	return into
}

// StartCounting sets the counters of all nodes to zero.
func (x *Nodes) StartCounting() {
	for _, n := range x.nodes {
		n.Counters = Counters{}
	}
}

func (x *Nodes) read(n *node, t time.Time) Node {
	h := &n.heartbeat
	v := Node{
		Name: n.name, Created: x.watches.CountedFrom(n.created), Ready: n.ready, Counters: n.Counters,
		HeartbeatKnown: !h.last.IsZero() && x.areLeasesKnown() && !x.doubts(n, t), HeartbeatAge: t.Sub(h.lastSeen()), LongestInterval: x.longestInterval(n, t),
	}
	x.addPeriodTime(n, &v.Counters, t)
	v.Departing = n.departure.At(t)
	lead, ok := h.clockLeads.longest(t)
	v.ClockOffset, v.ClockKnown = -max(lead, -math.MaxInt64), ok // -math.MinInt64 would overflow
	return v
}

// longestInterval returns the longest interval between heartbeats in the last ten minutes. A break of the watch ends
// the current interval.
func (x *sight) longestInterval(n *node, t time.Time) time.Duration {
	longest, _ := n.heartbeat.intervals.longest(t)
	start := x.intervalStart(n)
	if start.IsZero() {
		return longest
	}
	if down := x.watches.DownSince(x.source()); !down.IsZero() {
		t = down
	}
	return max(longest, t.Sub(start))
}
