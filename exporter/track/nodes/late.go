package nodes

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// marks are the times at which nodes are checked, the earliest first. A node is checked no later than its heartbeat would be late or missed. A
// new heartbeat moves that time, which is only noticed at the check: so a heartbeat costs nothing here.
type marks []mark

type mark struct {
	at   time.Time
	node *node
}

func (m marks) Len() int           { return len(m) }
func (m marks) Less(i, j int) bool { return m[i].at.Before(m[j].at) }
func (m marks) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *marks) Push(m2 any)       { *m = append(*m, m2.(mark)) }

func (m *marks) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	(*m)[last] = mark{}
	*m = (*m)[:last]
	return x
}

// forget removes a node.
func (m *marks) forget(n *node) {
	*m = slices.DeleteFunc(*m, func(m mark) bool { return m.node == n })
	heap.Init(m)
}

// await has a node checked when its next heartbeat is late or missed, unless it is checked earlier anyway.
func (x *heartbeats) await(n *node) {
	at := x.due(n)
	if look := n.heartbeat.look; at.IsZero() || !look.IsZero() && !look.After(at) {
		return
	}
	n.heartbeat.look = at
	heap.Push(&x.marks, mark{at, n})
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
	for m := &x.marks; len(*m) > 0 && (*m)[0].at.Before(t); {
		first := &(*m)[0]
		n, at := first.node, x.due(first.node)
		proven, ok := x.provenAt(first.at)
		switch {
		case !n.heartbeat.look.Equal(first.at):
			// The node was checked earlier, for another mark.
			heap.Pop(m)
			continue
		case at.IsZero() || at.After(first.at):
			// It has sent a heartbeat since, or none is awaited.
		case !ok || proven.After(t):
			x.report(late)
			return // until it is proven
		default:
			late = x.lateOf(late, n, first.at.Add(1), proven)
			n.heartbeat.mayCatchUp()
			at = x.due(n)
		}
		if n.heartbeat.look = at; at.IsZero() {
			heap.Pop(m)
			continue
		}
		first.at = at
		heap.Fix(m, 0)
	}
	x.report(late)
}

// report reports late heartbeats by time, and nodes at the same time by name.
func (x *heartbeats) report(late []transition.Transition) {
	slices.SortFunc(late, func(a, b transition.Transition) int {
		return cmp.Or(a.When().Compare(b.When()), strings.Compare(a.Fields().Node, b.Fields().Node))
	})
	for _, change := range late {
		x.found.Add(change)
	}
}

// due is when the heartbeat of a node's current interval is next late or missed; zero if both were counted.
func (x *heartbeats) due(n *node) time.Time {
	base := x.intervalStart(n)
	switch {
	case !n.exists || base.IsZero() || x.period == 0 || n.heartbeat.missed || !x.tellsAlone(n):
		return time.Time{}
	case n.heartbeat.late:
		return base.Add(x.period)
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
	since := h.since
	if first := x.watches.Synchronised(event.KindLease); first.After(since) {
		since = first
	}
	if mark := base.Add(x.period / 2); !h.late && t.After(mark) {
		h.late, n.troubled = true, mark
		if mark.After(since) {
			h.lates++
			found = append(found, transition.HeartbeatLate{At: transition.At{Time: mark, Waited: proven.Sub(mark)}, Node: n.name, Silence: x.period / 2, Announced: n.departure.Announced(h.last.Add(n.heartbeat.interval()))})
		}
	}
	if mark := base.Add(x.period); !h.missed && t.After(mark) {
		h.missed = true
		x.overdue.await(n)
		if mark.After(since) {
			h.misses++
			found = append(found, transition.HeartbeatMissed{
				At: transition.At{Time: mark, Waited: proven.Sub(mark)}, Node: n.name, Silence: x.period,
				Read: x.reads.ProvenAfter(mark), Loss: x.loss(n),
			})
		}
	}
	return found
}
