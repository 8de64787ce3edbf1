package nodes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// await has a node checked when its next heartbeat is late or missed, unless it is checked earlier anyway.
func (x *heartbeats) await(n *node) {
	at := x.due(n)
	if look := n.heartbeat.look; at.IsZero() || !look.IsZero() && !look.After(at) {
		return
	}
	n.heartbeat.look = at
	x.marks.Add(at, n)
}

// awaitAll sets the times of all nodes again, for another grace period.
func (x *heartbeats) awaitAll(nodes map[string]*node, period time.Duration) {
	x.marks, x.period = nil, period
	for _, n := range nodes {
		n.heartbeat.look = time.Time{}
		x.await(n)
	}
}

// CountLate counts the heartbeats that have become late by t.
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
			// The node was checked earlier, for another mark.
			m.Drop()
			continue
		case at.IsZero() || at.After(look):
			// It has sent a heartbeat since, or none is awaited.
		case !ok || proven.After(t):
			x.found.AddInOrder(late)
			return // until it is proven
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

// due is when the heartbeat of a node's current interval is next late or missed; zero if both were counted.
func (x *heartbeats) due(n *node) time.Time {
	base := x.intervalStart(n)
	switch {
	case !n.exists || base.IsZero() || x.period == 0 || n.heartbeat.missed || !x.tellsAlone(n):
		return time.Time{}
	case n.heartbeat.late:
		at, _ := x.missedFrom(n, base)
		return at
	}
	return base.Add(x.period / 2)
}

// intervalStart is the start of the current interval: the last heartbeat, or the end of the last break of the watch.
func (x *heartbeats) intervalStart(n *node) time.Time {
	if last := n.heartbeat.lastSeen(); last.IsZero() || last.After(x.resumed) {
		return last
	}
	return x.resumed
}

// lateOf counts the node's current interval as late and missed if it is by t, and
// appends a transition for each, with the exact time at which it became so. proven is when that was proven.
func (x *heartbeats) lateOf(found []transition.Transition, n *node, t, proven time.Time) []transition.Transition {
	base := x.intervalStart(n)
	if !n.exists || base.IsZero() || x.period == 0 || x.blind() || !x.tells(n) {
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
