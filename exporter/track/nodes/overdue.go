package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// searchEvery is the shortest time between two searches for overdue nodes.
const searchEvery = time.Second

// `overdue` finds nodes that are still Ready although the node controller should have set them to Unknown. Their
// silence exceeds the grace period plus the controller's own delay, and the API server accepted writes during that
// time.
//
// A possible reason is that the node controller is stuck. It can also be waiting because its copy of the Leases lags
// behind the API server (v1.37, NodeControllerLeaseCircuitBreaker).
type overdue struct {
	// controlPlane knows how long the current kube-controller-manager has been the leader.
	controlPlane *controlplane.ControlPlane

	// candidates are the nodes that have been silent for longer than the grace period.
	candidates []*node
	// `answers` holds evidence that the API server accepts writes.
	answers  reads.Answers
	searched time.Time
}

// addCandidate adds a silent node to the candidates.
func (o *overdue) addCandidate(n *node) {
	if !slices.Contains(o.candidates, n) {
		o.candidates = append(o.candidates, n)
	}
}

func (o *overdue) forget(n *node) {
	o.candidates = slices.DeleteFunc(o.candidates, func(x *node) bool { return x == n })
}

// `names` returns the names of up to askAtOnce candidates. Direct reads of their Leases show whether the API server
// answers.
func (o *overdue) names() (names []string) {
	for _, n := range o.candidates {
		if len(names) < askAtOnce && n.hasLease {
			names = append(names, n.name)
		}
	}
	return names
}

// ShowOverdue reports nodes that are overdue at t. Call it after an event of the node watch, which proves that the
// watch works.
func (x *Nodes) ShowOverdue(t time.Time) {
	o := &x.overdue
	if len(o.candidates) == 0 || t.Sub(o.searched) < searchEvery || !x.watches.Live(event.KindNode, t) {
		return
	}
	o.searched = t
	o.candidates = slices.DeleteFunc(o.candidates, func(n *node) bool { return x.isDecided(n, t) })
}

// isDecided reports whether a candidate needs no more checks. If the candidate is overdue, isDecided adds a transition.
func (x *Nodes) isDecided(n *node, t time.Time) bool {
	h := &n.heartbeat
	if !n.exists || !h.missed || n.ready != event.StatusTrue || x.period == 0 {
		return true
	}
	since := latest(x.intervalStart(n), h.firstSeen, x.watches.SyncedAt(event.KindLease))
	leads, leaderKnown := x.overdue.controlPlane.LeadsSince(t)
	due := latest(since, leads).Add(x.period)
	if x.overdue.answers.Last.Sub(latest(due, x.overdue.answers.Since)) <= grace.MonitorSlack {
		return false
	}
	certain := x.grace.IsCertain() && leaderKnown || t.Sub(since) > x.grace.LongestUnseen(x.period)
	if !h.overdue || certain {
		h.overdue = true
		x.found.Add(transition.NodeNotMarked{At: at(t), Node: n.name, Silence: t.Sub(since), Certain: certain, Loss: x.loss(n)})
	}
	return certain
}

func latest(first time.Time, others ...time.Time) time.Time {
	for _, t := range others {
		if t.After(first) {
			first = t
		}
	}
	return first
}
