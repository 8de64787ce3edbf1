// Package controlplane follows the Leases of the control plane: that of the leading kube-controller-manager, and one for each API
// server. They are optional evidence: without permission to watch them, nothing is known.
package controlplane

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/reads"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// shownWithin is how long ago the watch must have shown a renewal, to show what happens now: a leader renews every 2 s, an API server every 10 s.
	shownWithin = 15 * time.Second
	// leaderLate is the time after which a leader gives up (client-go, tools/leaderelection, RenewDeadline). serverLate is two lost renewals
	// of an API server.
	leaderLate = 10 * time.Second
	serverLate = 25 * time.Second
	// serverGone is how long a stopped API server still counts as one of the cluster. Its Lease stays for an hour (pkg/controlplane,
	// IdentityLeaseGCPeriod).
	serverGone = 10 * time.Minute
)

// ControlPlane are the Leases of the control plane.
type ControlPlane struct {
	watches *watches.Watches
	found   *transition.List
	leases  map[string]*lease
	// shown is when the watch last showed a renewal.
	shown time.Time
}

// lease is a Lease.
type lease struct {
	name, host string
	generation uint32
	holder     string
	// held is since when it is known to have this holder.
	held time.Time
	// renewed is its renewTime, seen is when that was seen. live: it was renewed since kubeflap watches it, so it is not a leftover.
	renewed, seen time.Time
	live, late    bool
	// made is when it was last renewed, by kubeflap's clock, and gap the longest time between two renewals since it is late: the watch may show
	// them late, or etcd may have taken a write that had waited.
	made, lateSince time.Time
	gap             time.Duration
	// delays are the last times from a renewTime to its arrival, the difference of the clocks included.
	delays []time.Duration
}

const (
	// maxDelays is how many delays count, minDelays how many there must be: half a minute of a leader's renewals, and a quarter.
	maxDelays = 16
	minDelays = 8
)

// New returns a control plane whose Leases have not been seen yet.
func New(watches *watches.Watches, found *transition.List) *ControlPlane {
	return &ControlPlane{watches: watches, found: found, leases: map[string]*lease{}}
}

// Apply handles an event of a Lease.
func (x *ControlPlane) Apply(e event.Event, o *event.ControlPlaneLease) {
	if e.Type == event.Deleted {
		delete(x.leases, o.Name)
		return
	}
	l := x.leases[o.Name]
	if l == nil {
		l = &lease{name: o.Name, host: o.Host, holder: o.Holder, held: e.Seen, renewed: o.Renew, seen: e.Seen, made: e.Seen}
		x.leases[o.Name] = l
	}
	l.generation, l.host = x.watches.Generation(e.Kind), o.Host
	x.findLate(e.Seen)
	if l.holder != o.Holder {
		if o.Name == event.LeaseControllerManager {
			x.found.Add(transition.LeaderChanged{At: transition.At{Time: e.Seen}, To: o.Holder})
		}
		l.holder, l.held, l.delays = o.Holder, e.Seen, nil
	}
	if o.Renew.Equal(l.renewed) {
		return
	}
	x.noteRenewal(l, e.Seen, o.Renew)
	if e.Type == event.Modified {
		if len(l.delays) == maxDelays {
			l.delays = slices.Delete(l.delays, 0, 1)
		}
		l.delays = append(l.delays, e.Seen.Sub(o.Renew))
	}
	x.shown, l.seen = e.Seen, e.Seen
	l.renewed, l.live = o.Renew, e.Type == event.Modified
}

// noteRenewal handles a renewal. A late Lease counts as renewed only once a renewal is seen soon after it was made.
func (x *ControlPlane) noteRenewal(l *lease, seen, renewed time.Time) {
	if !l.late {
		l.made = seen
		return
	}
	step := renewed.Sub(l.renewed)
	if l.made, l.gap = l.made.Add(step), max(l.gap, step); l.made.After(seen) || l.held.Equal(seen) {
		l.made = seen // by another holder's clock
	}
	if reads.IsLate(l.made, seen) {
		return
	}
	l.late = false
	x.found.Add(transition.ControlPlaneLeaseRenewed{At: transition.At{Time: seen}, Name: l.name, Silence: seen.Sub(l.lateSince), InTime: l.gap <= l.limit()})
}

// limit is the time after which a Lease is late, 0 if it does not matter.
func (l *lease) limit() time.Duration {
	switch {
	case l.name == event.LeaseControllerManager:
		return leaderLate
	case strings.HasPrefix(l.name, event.LeaseAPIServerPrefix):
		return serverLate
	}
	return 0
}

// findLate finds the Leases that are late, when the watch shows another one.
func (x *ControlPlane) findLate(t time.Time) {
	var late []*lease
	for _, l := range x.leases {
		if limit := l.limit(); limit > 0 && l.live && !l.late && t.Sub(l.seen) > limit && x.watches.Live(event.KindControlPlaneLease, l.seen) {
			late = append(late, l)
		}
	}
	slices.SortFunc(late, func(a, b *lease) int { return strings.Compare(a.name, b.name) })
	for _, l := range late {
		l.late, l.lateSince, l.gap = true, l.seen, 0
		x.found.Add(transition.ControlPlaneLeaseLate{At: transition.At{Time: t}, Name: l.name, Host: l.host, Since: l.seen})
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

// LeaderDelay is by how much what the leading kube-controller-manager writes is behind its own clock when it arrives, if nothing keeps the write back: the
// least of its last renewals. known is false if there were too few.
func (x *ControlPlane) LeaderDelay(t time.Time) (least time.Duration, known bool) {
	l := x.leases[event.LeaseControllerManager]
	if l == nil || len(l.delays) < minDelays || !x.watches.Live(event.KindControlPlaneLease, t) {
		return 0, false
	}
	return slices.Min(l.delays), true
}

// AsOf is what is known of the control plane at t.
func (x *ControlPlane) AsOf(t time.Time) (c transition.ControlPlane) {
	if !x.watches.Live(event.KindControlPlaneLease, t) {
		return c
	}
	c.Time, c.Shown, c.APIServers = t, x.shown, x.Servers()
	c.Leader = x.leases[event.LeaseControllerManager] != nil
	return c
}

// Servers is how many API servers there were when the watch last showed a renewal; 0 if that is not known.
func (x *ControlPlane) Servers() (n int) {
	for _, l := range x.leases {
		if strings.HasPrefix(l.name, event.LeaseAPIServerPrefix) && l.live && x.shown.Sub(l.seen) < serverGone {
			n++
		}
	}
	return n
}
