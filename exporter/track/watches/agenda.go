package watches

import (
	"container/heap"
	"time"
)

// Rank orders what is due at the same time.
type Rank uint8

// Ranks, in order. The cause of a pod's loss of readiness explains why its address was lost, so pods come before Services.
const (
	RankPods Rank = iota
	RankServices
	RankForget
)

// agenda is a heap of what is to be done at certain times.
type agenda []*task

// task is something to do. `added` orders tasks with the same time and rank.
type task struct {
	due   time.Time
	rank  Rank
	added int
	do    func()
}

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	x, y := a[i], a[j]
	if c := x.due.Compare(y.due); c != 0 {
		return c < 0
	}
	return x.rank < y.rank || x.rank == y.rank && x.added < y.added
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(*task)) }
func (a *agenda) Pop() any {
	last := len(*a) - 1
	x := (*a)[last]
	(*a)[last] = nil
	*a = (*a)[:last]
	return x
}

// Schedule makes Due return `do` at a time.
func (c *eventClock) Schedule(due time.Time, rank Rank, do func()) {
	c.scheduled++
	heap.Push(&c.agenda, &task{due, rank, c.scheduled, do})
}

// Due removes and returns the first task that is due by a time, or returns nil.
func (c *eventClock) Due(by time.Time) (due time.Time, do func()) {
	if len(c.agenda) == 0 || c.agenda[0].due.After(by) {
		return due, nil
	}
	x := heap.Pop(&c.agenda).(*task)
	return x.due, x.do
}
