package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// searchEvery is the shortest time between two searches for overdue nodes.
const searchEvery = time.Second

// ShowOverdue reports nodes that are overdue at t: they are still Ready although the node controller should have set them
// to Unknown. Their silence exceeds the grace period plus the controller's own delay, and the API server accepted writes
// during that time. Call it after an event of the node watch, which proves that the watch works.
//
// A possible reason is that the node controller is stuck. It can also be waiting because its copy of the Leases lags
// behind the API server (v1.37, NodeControllerLeaseCircuitBreaker).
func (x *health) ShowOverdue(t time.Time) {
	if t.Sub(x.searched) < searchEvery || !x.watches.Live(event.KindNode, t) {
		return
	}
	x.searched = t
	for _, n := range x.inOrder() {
		if n.mayBeOverdue() {
			n.heartbeat.decided = x.isDecided(n, t)
		}
	}
}

// mayBeOverdue reports whether the node has been silent for longer than the grace period, and it is not known whether it
// is overdue.
func (n *node) mayBeOverdue() bool { return n.exists && n.heartbeat.missed && !n.heartbeat.decided }

// isDecided reports whether a silent node needs no more checks. If the node is overdue, isDecided adds a transition.
func (x *health) isDecided(n *node, t time.Time) bool {
	h := &n.heartbeat
	if n.ready != event.StatusTrue || x.grace.Period == 0 {
		return true
	}
	since := latest(x.intervalStart(n), x.watchedSince(n))
	leads, leaderKnown := x.controlPlane.LeadsSince(t)
	due := latest(since, leads).Add(x.grace.Period)
	if x.reads.Answers.Sub(latest(due, x.reads.AnswersSince, x.marked)) <= controlplane.MonitorSlack {
		return false // or the node controller is busy with other nodes
	}
	certain := x.grace.IsCertain() && (leaderKnown || t.Sub(since) > x.grace.LongestUnseen())
	if !h.overdue || certain {
		h.overdue = true
		x.found.Add(transition.NodeNotMarked{OfNode: n.at(t), Silence: t.Sub(since), Certain: certain, Loss: x.loss(n)})
	}
	return certain
}

const (
	// askAtOnce is the maximum number of Leases per direct read.
	askAtOnce = 3
	// askAfter is how long kubeflap waits for a late heartbeat before it reads Leases directly. In a large cluster, a
	// working watch shows the heartbeat of another node within milliseconds, so no read is necessary.
	askAfter = 500 * time.Millisecond
)

// LeasesToRead returns the nodes whose Leases kubeflap should read directly, without the watch. If a heartbeat is late,
// the read shows whether the node or the watch is silent. If a node may be overdue, the read shows whether the API
// server answers. Nodes whose heartbeats already count as missed have no check.
func (x *health) LeasesToRead() (names []string) {
	t := x.watches.Now()
	switch {
	case x.isBlind(), x.reads.IsWatchLagging(), t.Sub(x.reads.Asked) < controlplane.AskEvery:
		return nil
	case len(x.checks) > 0 && t.Sub(x.checks[0].at) >= askAfter:
		return x.checks.first(askAtOnce)
	case t.Sub(x.reads.Answers) < controlplane.AskEvery:
		return nil
	}
	for _, n := range x.inOrder() {
		if len(names) < askAtOnce && n.mayBeOverdue() && n.hasLease {
			names = append(names, n.name)
		}
	}
	return names
}

// LeasesBehind reports whether the Lease watch must be reopened because it lags. The watch lags if a direct read has
// shown a renewal that the watch has not shown in time.
func (x *health) LeasesBehind() bool {
	return !x.isBlind() && x.reads.MustReopenWatch(x.watches.Now())
}
