package nodes

import (
	"container/heap"
	"slices"
	"time"
)

// checks is a heap of future checks of nodes, earliest first.
type checks []check

type check struct {
	at   time.Time
	node *node
}

// add adds a check.
func (q *checks) add(at time.Time, n *node) { heap.Push(q, check{at, n}) }

// later moves the earliest check to a later time, or removes it if that time is zero.
func (q *checks) later(at time.Time) {
	if at.IsZero() {
		heap.Pop(q)
		return
	}
	(*q)[0].at = at
	heap.Fix(q, 0)
}

// first returns the names of the first nodes to check, if they have a Lease.
func (q *checks) first(most int) (names []string) {
	sorted := slices.Clone(*q)
	slices.SortFunc(sorted, func(a, b check) int { return a.at.Compare(b.at) })
	for _, c := range sorted {
		if len(names) < most && c.node.hasLease && !slices.Contains(names, c.node.name) {
			names = append(names, c.node.name)
		}
	}
	return names
}

// forget removes all checks of a node.
func (q *checks) forget(n *node) {
	*q = slices.DeleteFunc(*q, func(c check) bool { return c.node == n })
	heap.Init(q)
}

// Len, Less, Swap, Push and Pop implement heap.Interface.
func (q checks) Len() int           { return len(q) }
func (q checks) Less(i, j int) bool { return q[i].at.Before(q[j].at) }
func (q checks) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *checks) Push(x any)        { *q = append(*q, x.(check)) }

// Pop implements heap.Interface.
func (q *checks) Pop() any {
	last := len(*q) - 1
	x := (*q)[last]
	(*q)[last] = check{}
	*q = (*q)[:last]
	return x
}
