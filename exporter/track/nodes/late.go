package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// await schedules a check of the node for the time when its next heartbeat becomes late or missed. It does nothing if
// an earlier check is scheduled.
func (x *heartbeats) await(n *node) {
	at := x.due(n)
	if look := n.heartbeat.look; at.IsZero() || !look.IsZero() && !look.After(at) {
		return
	}
	n.heartbeat.look = at
	x.marks.Add(at, n)
}

// awaitAll sets a grace period and reschedules the checks of all nodes.
func (x *heartbeats) awaitAll(nodes map[string]*node, period time.Duration) {
	x.marks, x.period = nil, period
	for _, n := range nodes {
		n.heartbeat.look = time.Time{}
		x.await(n)
	}
}

// CountLate counts the heartbeats that have become late or missed by t.
func (x *heartbeats) CountLate(t time.Time) {
	if x.blind() {
		return
	}
	var late []transition.Transition
	for m := &x.marks; len(*m) > 0 && (*m)[0].At.Before(t); {
		look, n := (*m)[0].At, (*m)[0].Of
		at := x.due(n)
		proven, ok := x.provenAt(look)
		switch {
		case !n.heartbeat.look.Equal(look):
			// An earlier check has replaced this one.
			m.Drop()
			continue
		case at.IsZero() || at.After(look):
			// A newer heartbeat has arrived, or kubeflap expects none.
		case !ok || proven.After(t):
			x.found.AddInOrder(late)
			return // the silence is not proven yet
		default:
			late = x.lateOf(late, n, look.Add(1), proven)
			n.heartbeat.mayCatchUp()
			at = x.due(n)
		}
		if n.heartbeat.look = at; at.IsZero() {
			m.Drop()
			continue
		}
		m.Later(at)
	}
	x.found.AddInOrder(late)
}

// due returns the time of a node's next check. At that time, the current interval becomes late or missed. due returns
// zero if no check is needed.
func (x *heartbeats) due(n *node) time.Time {
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

// lateOf counts the node's current interval if it has become late or missed by t. It appends a transition for each
// count. `proven` is the time at which the silence was proven.
func (x *heartbeats) lateOf(found []transition.Transition, n *node, t, proven time.Time) []transition.Transition {
	base := x.intervalStart(n)
	if !n.exists || base.IsZero() || x.period == 0 || x.blind() || !x.notices(n) {
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
		x.overdue.await(n)
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
