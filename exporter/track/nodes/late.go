package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// scheduleCheck schedules a check of the node for the time when its next heartbeat becomes late or missed. It does
// nothing if an earlier check is scheduled.
func (x *heartbeats) scheduleCheck(n *node) {
	at := x.nextCheck(n)
	if look := n.heartbeat.scheduledCheck; at.IsZero() || !look.IsZero() && !look.After(at) {
		return
	}
	n.heartbeat.scheduledCheck = at
	x.checks.Add(at, n)
}

// rescheduleChecks sets a grace period and reschedules the checks of all nodes.
func (x *heartbeats) rescheduleChecks(nodes map[string]*node, period time.Duration) {
	x.checks, x.period = nil, period
	for _, n := range nodes {
		n.heartbeat.scheduledCheck = time.Time{}
		x.scheduleCheck(n)
	}
}

// CountLate counts the heartbeats that have become late or missed by t.
func (x *heartbeats) CountLate(t time.Time) {
	if x.isBlind() {
		return
	}
	var late []transition.Transition
	for m := &x.checks; len(*m) > 0 && (*m)[0].At.Before(t); {
		look, n := (*m)[0].At, (*m)[0].Item
		at := x.nextCheck(n)
		proven, ok := x.provenAt(look)
		switch {
		case !n.heartbeat.scheduledCheck.Equal(look):
			// An earlier check has replaced this one.
			m.Drop()
			continue
		case at.IsZero() || at.After(look):
			// A newer heartbeat has arrived, or kubeflap expects none.
		case !ok || proven.After(t):
			x.found.AddInOrder(late)
			return // the silence is not proven yet
		default:
			late = x.appendLate(late, n, look.Add(1), proven)
			n.heartbeat.startCatchUp()
			at = x.nextCheck(n)
		}
		if n.heartbeat.scheduledCheck = at; at.IsZero() {
			m.Drop()
			continue
		}
		m.Later(at)
	}
	x.found.AddInOrder(late)
}

// nextCheck returns the time of a node's next check. At that time, the current interval becomes late or missed unless a
// heartbeat arrives. nextCheck returns zero if no check is needed.
func (x *heartbeats) nextCheck(n *node) time.Time {
	base := x.intervalStart(n)
	switch {
	case !n.exists || base.IsZero() || x.period == 0 || n.heartbeat.missed || !x.provesSilence(n):
		return time.Time{}
	case n.heartbeat.late:
		at, _ := x.missedFrom(n, base)
		return at
	}
	return base.Add(x.period / 2)
}

// intervalStart returns the start of the current interval. It is the last heartbeat or the end of the watch's last
// break, whichever is later.
func (x *heartbeats) intervalStart(n *node) time.Time {
	if last := n.heartbeat.lastSeen(); last.IsZero() || last.After(x.resumed) {
		return last
	}
	return x.resumed
}

// appendLate counts the node's current interval if it has become late or missed by t. It appends a transition for each
// count. `proven` is the time at which the silence was proven.
func (x *heartbeats) appendLate(found []transition.Transition, n *node, t, proven time.Time) []transition.Transition {
	base := x.intervalStart(n)
	if !n.exists || base.IsZero() || x.period == 0 || x.isBlind() || !x.canDetectSilence(n) {
		return found
	}
	h := &n.heartbeat
	since := x.watchedSince(n)
	if mark := base.Add(x.period / 2); !h.late && t.After(mark) {
		late := transition.HeartbeatLate{
			At: transition.At{Time: mark, Waited: proven.Sub(mark)}, Node: n.name, Silence: x.period / 2,
			Announced: n.departure.Announced(h.last.Add(h.rhythm.Interval())), Unwatched: !mark.After(since), Last: x.lastRenewal(n),
		}
		if !late.Unwatched {
			h.lates++
		}
		h.late, n.troubled, found = true, mark, append(found, late)
	}
	if mark, before := x.missedFrom(n, base); !h.missed && t.After(mark) {
		h.missed = true
		if x.overdue.addCandidate(n); x.period > h.rhythm.Undisturbed() {
			h.addresses = x.AddressesOn(n.name)
		}
		if before {
			lost := x.foundLost(n, mark)
			lost.Waited = proven.Sub(mark)
			return append(found, lost)
		}
		h.misses++
		found = append(found, transition.HeartbeatMissed{
			At: transition.At{Time: mark, Waited: proven.Sub(mark)}, Node: n.name, Silence: x.period,
			Read: x.reads.ProvenAfter(mark), Loss: x.loss(n),
		})
	}
	return found
}
