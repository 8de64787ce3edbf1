// Package controlplane follows the Leases of the control plane: that of the leading kube-controller-manager, and one for each API
// server. They are optional evidence: without permission to watch them, nothing is known.
package controlplane

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// shownWithin is how long ago the watch must have shown a renewal, to show what happens now: a leader renews every 2 s, an API server every 10 s.
const shownWithin = 15 * time.Second

// ControlPlane are the Leases of the control plane.
type ControlPlane struct {
	watches *watches.Watches
	leases  map[string]*lease
	// shown is when the watch last showed a renewal.
	shown time.Time
}

// lease is a Lease.
type lease struct {
	generation uint32
	holder     string
	// held is since when it is known to have this holder.
	held time.Time
}

// New makes a control plane of which nothing is known.
func New(watches *watches.Watches) *ControlPlane {
	return &ControlPlane{watches: watches, leases: map[string]*lease{}}
}

// Apply takes in an event of a Lease.
func (x *ControlPlane) Apply(e event.Event, o *event.ControlPlaneLease) {
	if e.Type == event.Deleted {
		delete(x.leases, o.Name)
		return
	}
	l := x.leases[o.Name]
	if l == nil {
		l = &lease{}
		x.leases[o.Name] = l
	}
	x.shown, l.generation = e.Seen, x.watches.Generation(e.Kind)
	if l.held.IsZero() || l.holder != o.Holder {
		l.holder, l.held = o.Holder, e.Seen
	}
}

// Sweep drops the Leases that the newest list did not show.
func (x *ControlPlane) Sweep() {
	for name, l := range x.leases {
		if l.generation != x.watches.Generation(event.KindControlPlaneLease) {
			delete(x.leases, name)
		}
	}
}

// LeadsSince is since when the same kube-controller-manager is known to lead; known is false if a change could not be seen. A new leader gives
// each node a fresh grace period (node lifecycle controller, tryUpdateNodeHealth, nodeHealth == nil).
func (x *ControlPlane) LeadsSince(t time.Time) (since time.Time, known bool) {
	l := x.leases[event.LeaseControllerManager]
	if l == nil || !x.watches.Live(event.KindControlPlaneLease, t) || t.Sub(x.shown) > shownWithin {
		return time.Time{}, false
	}
	return l.held, true
}
