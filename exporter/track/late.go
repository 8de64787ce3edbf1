package track

import (
	"cmp"
	"container/heap"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// marks are when nodes are to be looked at, the earliest first: no later than a node's next mark is passed. A
// heartbeat puts that off, which shows when the node is looked at: few marks are ever passed.
type marks []mark

type mark struct {
	at   time.Time
	node *node
}

func (m marks) Len() int           { return len(m) }
func (m marks) Less(i, j int) bool { return m[i].at.Before(m[j].at) }
func (m marks) Swap(i, j int)      { m[i], m[j] = m[j], m[i] }
func (m *marks) Push(x any)        { *m = append(*m, x.(mark)) }

func (m *marks) Pop() any {
	last := len(*m) - 1
	x := (*m)[last]
	(*m)[last] = mark{}
	*m = (*m)[:last]
	return x
}

// forget lets a node go.
func (m *marks) forget(n *node) {
	*m = slices.DeleteFunc(*m, func(x mark) bool { return x.node == n })
	heap.Init(m)
}

// await has a node looked at when its next mark is passed, unless it is looked at before that anyway.
func (f *Tracker) await(n *node) {
	at := f.due(n)
	if look := n.heartbeat.look; at.IsZero() || !look.IsZero() && !look.After(at) {
		return
	}
	n.heartbeat.look = at
	heap.Push(&f.beats.marks, mark{at, n})
}

// awaitAll begins anew with all nodes.
func (f *Tracker) awaitAll() {
	f.beats.marks = nil
	for _, n := range f.nodes {
		n.heartbeat.look = time.Time{}
		f.await(n)
	}
}

// countLate counts the heartbeats that have become late by t.
func (f *Tracker) countLate(t time.Time) {
	if f.blindToHeartbeats() {
		return
	}
	var late []Finding
	for m := &f.beats.marks; len(*m) > 0 && (*m)[0].at.Before(t); {
		first := &(*m)[0]
		n, at := first.node, f.due(first.node)
		switch {
		case !n.heartbeat.look.Equal(first.at):
			// By another mark it was looked at earlier.
			heap.Pop(m)
			continue
		case at.IsZero() || at.After(first.at):
			// It has sent one since, or nothing is waited for.
		case !f.beats.reads.prove(first.at, t):
			f.reportLate(late)
			return // as soon as it is known
		default:
			late = f.lateOf(late, n, first.at.Add(1))
			at = f.due(n)
		}
		if n.heartbeat.look = at; at.IsZero() {
			heap.Pop(m)
			continue
		}
		first.at = at
		heap.Fix(m, 0)
	}
	f.reportLate(late)
}

// reportLate reports in the order in which the marks were passed, nodes of the same moment by name.
func (f *Tracker) reportLate(late []Finding) {
	slices.SortFunc(late, func(a, b Finding) int {
		return cmp.Or(a.Time.Compare(b.Time), strings.Compare(a.Node, b.Node))
	})
	for _, x := range late {
		f.report(x)
	}
}

// due is when the next mark of a node's running interval is passed; zero if none is left.
func (f *Tracker) due(n *node) time.Time {
	base := f.intervalStart(n)
	switch {
	case !n.exists || base.IsZero() || f.beats.grace == 0 || n.heartbeat.missed:
		return time.Time{}
	case n.heartbeat.late:
		return base.Add(f.beats.grace)
	}
	return base.Add(f.beats.grace / 2)
}

// intervalStart is from when on the node's next heartbeat is waited for.
func (f *Tracker) intervalStart(n *node) time.Time {
	if n.heartbeat.last.IsZero() || n.heartbeat.last.After(f.beats.resumed) {
		return n.heartbeat.last
	}
	return f.beats.resumed
}

// lateOf counts the marks that the node's running interval has passed by t, and
// appends a finding for each, with the moment at which it passed it.
func (f *Tracker) lateOf(found []Finding, n *node, t time.Time) []Finding {
	base := f.intervalStart(n)
	if !n.exists || base.IsZero() || f.beats.grace == 0 || f.blindToHeartbeats() {
		return found
	}
	h := &n.heartbeat
	since := h.since
	if first := f.watches[event.KindLease].synchronised; first.After(since) {
		since = first
	}
	if mark := base.Add(f.beats.grace / 2); !h.late && t.After(mark) {
		h.late = true
		if mark.After(since) {
			h.lates++
			found = append(found, Finding{Time: mark, Kind: HeartbeatLate, Node: n.name, Duration: f.beats.grace / 2})
		}
	}
	if mark := base.Add(f.beats.grace); !h.missed && t.After(mark) {
		h.missed = true
		if mark.After(since) {
			h.misses++
			found = append(found, Finding{Time: mark, Kind: HeartbeatMissed, Node: n.name, Duration: f.beats.grace, Trigger: n.trigger(CauseNodeHeartbeatLost), Renewed: h.shown})
		}
	}
	return found
}
