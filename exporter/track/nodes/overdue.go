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

// lookEvery is the shortest time between two looks at nodes that may be overdue.
const lookEvery = time.Second

// overdue finds the nodes that the node controller should have set to Unknown: silent for longer than the grace period and the
// controller's own delay, and still Ready, while the API server took writes all that time. A node controller that stands still looks like that, and one that
// holds back because its copy of the Leases is behind the API server (v1.37, NodeControllerLeaseCircuitBreaker).
type overdue struct {
	// controlPlane knows whether the kube-controller-manager's leader changed.
	controlPlane *controlplane.ControlPlane

	// candidates are the nodes that are silent for longer than the grace period.
	candidates []*node
	// answers are the signs that the API server takes writes.
	answers reads.Answers
	looked  time.Time
}

// await has a silent node looked at.
func (o *overdue) await(n *node) {
	if !slices.Contains(o.candidates, n) {
		o.candidates = append(o.candidates, n)
	}
}

func (o *overdue) forget(n *node) {
	o.candidates = slices.DeleteFunc(o.candidates, func(x *node) bool { return x == n })
}

// names are some of the nodes whose Leases are read to see whether the API server answers.
func (o *overdue) names() (names []string) {
	for _, n := range o.candidates {
		if len(names) < askAtOnce && n.hasLease {
			names = append(names, n.name)
		}
	}
	return names
}

// ShowOverdue looks for nodes that are overdue at t, when the watch of nodes has shown something: so it would also have shown a change of Ready.
func (x *Nodes) ShowOverdue(t time.Time) {
	o := &x.overdue
	if len(o.candidates) == 0 || t.Sub(o.looked) < lookEvery || !x.watches.Live(event.KindNode, t) {
		return
	}
	o.looked = t
	o.candidates = slices.DeleteFunc(o.candidates, func(n *node) bool { return x.isDecided(n, t) })
}

// isDecided reports whether nothing more can turn out about a node that is silent for longer than the grace period.
func (x *Nodes) isDecided(n *node, t time.Time) bool {
	h := &n.heartbeat
	if !n.exists || !h.missed || n.ready != event.StatusTrue || x.period == 0 {
		return true
	}
	since := latest(x.intervalStart(n), h.since, x.watches.Synchronised(event.KindLease))
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
