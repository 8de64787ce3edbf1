// Package controlplane tracks what is known about the control plane: its Leases, the node monitor grace period, and the
// results of direct reads of nodes' Leases.
package controlplane

import (
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// shownWithin is the time for which the leader counts as known after the watch has shown a renewal. After that
	// time, kubeflap may have missed a leader change. Leaders renew every 2 s, and API servers renew every 10 s.
	shownWithin = 15 * time.Second
	// leaderLate is the time after which a leader that cannot renew its Lease stops leading (client-go,
	// tools/leaderelection, RenewDeadline). serverLate allows for two lost renewals of an API server.
	leaderLate = 10 * time.Second
	serverLate = 25 * time.Second
	// serverGone is the time for which an API server or a leader is counted after the last renewal of its Lease. The
	// Lease of a stopped API server stays for an hour (pkg/controlplane, IdentityLeaseGCPeriod).
	serverGone = 10 * time.Minute
)

// ControlPlane holds the state of the control plane. The leader of the kube-controller-managers holds one Lease, and each
// API server holds one. The Leases are optional evidence. If kubeflap has no permission to watch them, their state is
// unknown.
type ControlPlane struct {
	Grace   GracePeriod
	Reads   Reads
	watches *watches.Watches
	found   *transition.List
	leases  map[string]*lease
	// `shown` is the time at which the watch last showed a renewal.
	shown time.Time
}

// lease is the state of one Lease.
type lease struct {
	name, host string
	holder     string
	// holderSince is the time at which kubeflap first saw the current holder of the Lease.
	holderSince time.Time
	// `renewed` is the Lease's renewTime, by the holder's clock. `seen` is the time at which the watch showed this
	// renewTime. `live` is set if the last renewal arrived as a change event. A renewal in a list does not count,
	// because a list also contains stale Leases. `late` is set while the Lease is late.
	renewed    event.ControllerTime
	seen       time.Time
	live, late bool
	// `made` is the estimated time of the last renewal, measured by kubeflap's clock. It is earlier than `seen` if the
	// watch or etcd delayed the renewal. lateSince is the time of the last renewal before the Lease became late. gap is
	// the longest interval between two renewals since lateSince.
	made, lateSince time.Time
	gap             time.Duration
	// lateUntil is the time at which the Lease was last on time again.
	lateUntil time.Time
	// `delays` holds the most recent delays from a renewTime to the renewal's arrival. Each delay includes the
	// difference between the holder's clock and kubeflap's.
	delays []time.Duration
}

const (
	// maxDelays is the maximum number of stored delays. It is enough for half a minute of a leader's renewals.
	// minDelays is the number of delays that AgeAtMark requires.
	maxDelays = 16
	minDelays = 8
)

// New returns an empty ControlPlane. gracePeriod is the node monitor grace period set by the user, or 0.
func New(gracePeriod time.Duration, watches *watches.Watches, found *transition.List) *ControlPlane {
	return &ControlPlane{Grace: newGracePeriod(gracePeriod, watches, found), watches: watches, found: found, leases: map[string]*lease{}}
}

// Apply handles a Lease event.
func (x *ControlPlane) Apply(e event.Event, o *event.ControlPlaneLease) {
	if e.Type == event.Deleted {
		delete(x.leases, o.Name)
		return
	}
	l, renewed := x.leases[o.Name], event.ControllerTime(o.RenewTime)
	if l == nil {
		l = &lease{name: o.Name, host: o.Host, holder: o.Holder, holderSince: e.Seen, renewed: renewed, seen: e.Seen, made: e.Seen}
		x.leases[o.Name] = l
	}
	l.host = o.Host
	x.findLate(e.Seen)
	if l.holder != o.Holder {
		if o.Name == event.LeaseControllerManager {
			x.found.Add(transition.LeaderChanged{At: transition.At{Time: e.Seen}, To: o.Holder})
		}
		l.holder, l.holderSince, l.delays = o.Holder, e.Seen, nil
	}
	if renewed.Equal(l.renewed) {
		return
	}
	x.noteRenewal(l, e.Seen, renewed)
	if e.Type == event.Modified {
		if len(l.delays) == maxDelays {
			l.delays = slices.Delete(l.delays, 0, 1)
		}
		l.delays = append(l.delays, e.Seen.Sub(renewed.IfClocksAgree()))
	}
	x.shown, l.seen = e.Seen, e.Seen
	l.renewed, l.live = renewed, e.Type == event.Modified
}

// noteRenewal handles a renewal. A late Lease stays late until a renewal arrives without delay.
func (x *ControlPlane) noteRenewal(l *lease, seen time.Time, renewed event.ControllerTime) {
	if !l.late {
		l.made = seen
		return
	}
	step := renewed.Sub(l.renewed)
	if step < 0 {
		step = seen.Sub(l.seen) // the holder's clock was set back
	}
	if l.made, l.gap = l.made.Add(step), max(l.gap, step); l.made.After(seen) || l.holderSince.Equal(seen) {
		l.made = seen // the renewTime of a new holder comes from another clock
	}
	if IsLate(l.made, seen) {
		return
	}
	l.late, l.lateUntil = false, seen
	x.found.Add(transition.ControlPlaneLeaseRenewed{At: transition.At{Time: seen}, Name: l.name, Silence: seen.Sub(l.lateSince), InTime: l.gap <= l.limit()})
}

// limit returns the time after which a Lease is late, or 0 for a Lease without a limit.
func (l *lease) limit() time.Duration {
	switch {
	case l.name == event.LeaseControllerManager:
		return leaderLate
	case strings.HasPrefix(l.name, event.LeaseAPIServerPrefix):
		return serverLate
	}
	return 0
}

// findLate reports the Leases that have become late. Call it when the watch shows a Lease, which proves that the watch
// works.
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

// LeadsSince returns the time at which kubeflap first saw the current leader of the kube-controller-managers. known is
// false if kubeflap may have missed a leader change. A new leader starts a new grace period for each node (node
// lifecycle controller, tryUpdateNodeHealth, nodeHealth == nil).
func (x *ControlPlane) LeadsSince(t time.Time) (since time.Time, known bool) {
	l := x.leases[event.LeaseControllerManager]
	if l == nil || !x.watches.Live(event.KindControlPlaneLease, t) || t.Sub(x.shown) > shownWithin {
		return time.Time{}, false
	}
	return l.holderSince, true
}

// LeaderStoodStill reports whether the leader of the kube-controller-managers does not renew its Lease at t, or did not
// until shortly before. The controller then acts on outdated Leases of nodes.
func (x *ControlPlane) LeaderStoodStill(t time.Time) bool {
	l := x.leases[event.LeaseControllerManager]
	if l == nil || !x.watches.Live(event.KindControlPlaneLease, t) {
		return false
	}
	if !l.live { // the list can contain the Lease of a controller that no longer exists
		age := t.Sub(l.renewed.IfClocksAgree())
		return age > leaderLate && age <= serverGone
	}
	return l.late || t.Sub(l.seen) > leaderLate || !l.lateUntil.IsZero() && t.Sub(l.lateUntil) <= leaderLate
}

// AsOf returns the state of the control plane at t.
func (x *ControlPlane) AsOf(t time.Time) (c transition.ControlPlane) {
	if !x.watches.Live(event.KindControlPlaneLease, t) {
		return c
	}
	c.Time, c.NewestRenewalSeen, c.APIServers = t, x.shown, x.servers()
	c.Leader = x.leases[event.LeaseControllerManager] != nil
	return c
}

// `servers` returns the number of API servers at the time when the watch last showed a renewal. It returns 0 if the
// number is unknown.
func (x *ControlPlane) servers() (n int) {
	for _, l := range x.leases {
		if strings.HasPrefix(l.name, event.LeaseAPIServerPrefix) && l.live && x.shown.Sub(l.seen) < serverGone {
			n++
		}
	}
	return n
}
