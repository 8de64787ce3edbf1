package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// health judges which nodes are silent, and which are not Ready.
type health struct {
	sight
	found *transition.List
	// `nodes` holds the nodes by name. `sorted` holds them sorted by name. Adding or removing a node resets it to nil.
	nodes        map[string]*node
	sorted       []*node
	controlPlane *controlplane.ControlPlane
	grace        *controlplane.GracePeriod
	reads        *controlplane.Reads
	// `labelled` holds the number of nodes for each label. It is nil after a change.
	labelled map[label]int
	// ReadyOn returns the number of ready addresses on a node (package services).
	ReadyOn func(node string) int
	// `checks` is a queue with the next check of each node, for the grace period checksFor. A check finds out whether
	// the node's heartbeat is late or missed. To save work, a new heartbeat does not reschedule the check, so a check
	// can be too early.
	checks    checks
	checksFor time.Duration
	// readyTimes holds the times at which the Ready nodes of the first list had become Ready.
	readyTimes []event.NodeTime
	// `searched` is the time of the last search for overdue nodes. `marked` is the last time at which the node controller set
	// a node to Unknown, or a pod to not ready.
	searched, marked time.Time
}

// scheduleCheck schedules a check of the node for the time when its next heartbeat becomes late or missed. It does
// nothing if an earlier check is scheduled.
func (x *health) scheduleCheck(n *node) {
	at := x.nextCheck(n)
	if look := n.heartbeat.scheduledCheck; at.IsZero() || !look.IsZero() && !look.After(at) {
		return
	}
	n.heartbeat.scheduledCheck = at
	x.checks.add(at, n)
}

// rescheduleChecks schedules the checks of all nodes anew.
func (x *health) rescheduleChecks() {
	x.checks, x.checksFor = nil, x.grace.Period
	for _, n := range x.nodes {
		n.heartbeat.scheduledCheck = time.Time{}
		x.scheduleCheck(n)
	}
}

// LeasesChanged records that kubeflap can no longer watch Leases, or can watch them again. From now on, heartbeats come
// from another resource.
func (x *health) LeasesChanged(t time.Time) {
	x.resumed = t
	x.rescheduleChecks()
}

// CountLate counts the heartbeats that have become late or missed by t.
func (x *health) CountLate(t time.Time) {
	if x.checksFor != x.grace.Period {
		x.rescheduleChecks()
	}
	if x.isBlind() {
		return
	}
	var late []transition.Transition
	for m := &x.checks; len(*m) > 0 && (*m)[0].at.Before(t); {
		look, n := (*m)[0].at, (*m)[0].node
		if !n.heartbeat.scheduledCheck.Equal(look) {
			m.later(time.Time{}) // an earlier check has replaced this one
			continue
		}
		at := x.nextCheck(n)
		if !at.IsZero() && !at.After(look) { // no newer heartbeat has arrived, and kubeflap expects one
			proven, ok := x.reads.ProvenAt(look, x.source() == event.KindLease)
			if !ok || proven.After(t) {
				break // the silence is not proven yet
			}
			late = x.appendLate(late, n, look.Add(1), proven)
			n.heartbeat.startCatchUp()
			at = x.nextCheck(n)
		}
		n.heartbeat.scheduledCheck = at
		m.later(at)
	}
	x.found.AddInOrder(late)
}

// nextCheck returns the time of a node's next check. At that time, the current interval becomes late or missed unless a
// heartbeat arrives. nextCheck returns zero if no check is needed.
func (x *health) nextCheck(n *node) time.Time {
	base := x.intervalStart(n)
	switch {
	case !n.exists || base.IsZero() || x.grace.Period == 0 || n.heartbeat.missed || !x.areLeasesKnown():
		return time.Time{}
	case n.heartbeat.late:
		at, _ := x.missedFrom(n, base)
		return at
	}
	return base.Add(x.grace.Period / 2)
}

// missedFrom returns the time from which an interval that starts at `base` counts as missed. `before` is true if the
// grace period ended before kubeflap watched the node. In this case, `base` is a time by the node's clock, which may be
// slow. So missedFrom allows one more heartbeat interval, unless the node controller has set the node to Unknown.
func (x *health) missedFrom(n *node, base time.Time) (at time.Time, before bool) {
	at, since := base.Add(x.grace.Period), x.watchedSince(n)
	switch {
	case at.After(since):
		return at, false
	case n.heartbeat.confirmed:
		return since, true
	}
	return since.Add(n.heartbeat.undisturbed()), true
}

// `doubts` reports whether the time of the last heartbeat is doubtful. This is the case if, by the node's clock, the
// node was lost before kubeflap watched it. The clock may be slow.
func (x *health) doubts(n *node, t time.Time) bool {
	at, before := x.missedFrom(n, x.intervalStart(n))
	return before && !n.heartbeat.missed && n.ready == event.StatusTrue && !t.After(at)
}

// appendLate counts the node's current interval if it has become late or missed by t. It appends a transition for each
// count. `proven` is the time at which the silence was proven.
func (x *health) appendLate(found []transition.Transition, n *node, t, proven time.Time) []transition.Transition {
	base, period := x.intervalStart(n), x.grace.Period
	if !n.exists || base.IsZero() || period == 0 || x.isBlind() || !x.canDetectSilence(n) {
		return found
	}
	h := &n.heartbeat
	if mark := base.Add(period / 2); !h.late && t.After(mark) {
		late := transition.HeartbeatLate{
			OfNode: n.foundAt(mark, proven), Silence: period / 2,
			Announced: n.departure.AnnouncedSilence(h.last.Add(h.interval())), Unwatched: !mark.After(x.watchedSince(n)), Last: x.lastRenewal(n),
		}
		if !late.Unwatched {
			n.LateHeartbeats++
		}
		h.late, n.troubled, found = true, mark, append(found, late)
	}
	if mark, before := x.missedFrom(n, base); !h.missed && t.After(mark) {
		h.missed = true
		if period > h.undisturbed() {
			h.addresses = x.ReadyOn(n.name)
		}
		if before {
			lost := x.foundLost(n, mark)
			lost.Waited = proven.Sub(mark)
			return append(found, lost)
		}
		n.MissedHeartbeats++
		found = append(found, transition.HeartbeatMissed{
			OfNode: n.foundAt(mark, proven), Silence: period,
			Read: x.reads.ProvenAfter(mark), Loss: x.loss(n),
		})
	}
	return found
}

// silentFrom returns when the first missing heartbeat of a silent node was due. If kubeflap does not see heartbeats, it is the
// latest time at which the silence can have begun.
func (x *health) silentFrom(n *node) time.Time {
	if !x.canDetectSilence(n) {
		return x.watches.Now().Add(-x.grace.Period)
	}
	return n.heartbeat.last.Add(n.heartbeat.interval())
}

// `loss` describes the failure of a silent node.
func (x *health) loss(n *node) transition.NodeLoss {
	h := &n.heartbeat
	unseen, began := !x.canDetectSilence(n), x.silentFrom(n)
	announced := n.departure.AnnouncedSilence(began)
	lapsed, age := n.departure.Lapsed(began)
	return transition.NodeLoss{
		NodeFacts: transition.NodeFacts{
			Guessed: !x.grace.IsCertain() && !x.controlPlane.LeaderStoodStill(x.watches.Now()), Lapsed: lapsed, LapsedAge: age,
			Announced: announced, AnnouncedAfter: announced != "" && !unseen && n.departure.AnnouncedSilence(h.last) == "",
			Labels: x.countLabels(n), Unseen: unseen,
		},
		Trigger: n.trigger(cause.NodeHeartbeatLost), Renewed: time.Time(h.apiRenewTime), GracePeriod: x.grace.Period,
		ControlPlane: x.controlPlane.AsOf(x.watches.Now()), Blind: x.isBlind() || !h.last.After(x.resumed), Last: x.lastRenewal(n),
	}
}

// trigger returns a hash that identifies a failure of the node. For a silent node, it depends on renewTime, or on
// lastHeartbeatTime if there is no Lease. For Ready=False, it depends on lastTransitionTime.
func (n *node) trigger(why cause.Cause) uint64 {
	sign := n.heartbeat.reported
	switch {
	case why == cause.NodeNotReady:
		sign = n.falseSince
	case why == cause.NodeHeartbeatLost && !n.heartbeat.apiRenewTime.IsZero():
		sign = n.heartbeat.apiRenewTime
	}
	return n.triggerAt(sign)
}

func (n *node) triggerAt(sign event.NodeTime) uint64 {
	return transition.Trigger(n.uid, time.Time(sign).UTC().Format(time.RFC3339Nano))
}
