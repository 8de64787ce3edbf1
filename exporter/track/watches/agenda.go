package watches

import "time"

// Rank orders what is due at the same time.
type Rank uint8

// Ranks, in order. The cause of a pod's loss of readiness explains why its address was lost, so pods come before Services.
const (
	RankPods Rank = iota
	RankServices
	RankForget
)

// agenda is a heap of what is to be done at certain times. It holds no pointers to tasks, because a busy cluster has thousands.
type agenda []task

// task is something to do. `added` orders tasks with the same time and rank.
type task struct {
	due   time.Time
	rank  Rank
	added int
	do    func()
}

// precedes reports whether the task at i is due before the task at j.
func (a agenda) precedes(i, j int) bool {
	x, y := &a[i], &a[j]
	if c := x.due.Compare(y.due); c != 0 {
		return c < 0
	}
	return x.rank < y.rank || x.rank == y.rank && x.added < y.added
}

func (a *agenda) add(x task) {
	all := append(*a, x)
	for i := len(all) - 1; i > 0 && all.precedes(i, (i-1)/2); i = (i - 1) / 2 {
		all[i], all[(i-1)/2] = all[(i-1)/2], all[i]
	}
	*a = all
}

func (a *agenda) removeFirst() task {
	all, last := *a, len(*a)-1
	first := all[0]
	all[0], all[last] = all[last], task{}
	all = all[:last]
	for i, next := 0, 1; next < last; i, next = next, 2*next+1 {
		if next+1 < last && all.precedes(next+1, next) {
			next++
		}
		if !all.precedes(next, i) {
			break
		}
		all[i], all[next] = all[next], all[i]
	}
	*a = all
	return first
}

// Schedule makes Due return `do` at a time.
func (c *eventClock) Schedule(due time.Time, rank Rank, do func()) {
	c.scheduled++
	c.agenda.add(task{due, rank, c.scheduled, do})
}

// Due removes and returns the first task that is due by a time, or returns nil.
func (c *eventClock) Due(by time.Time) (due time.Time, do func()) {
	if len(c.agenda) == 0 || c.agenda[0].due.After(by) {
		return due, nil
	}
	x := c.agenda.removeFirst()
	return x.due, x.do
}
