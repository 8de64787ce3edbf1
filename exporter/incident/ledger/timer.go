package ledger

import (
	"cmp"
	"container/heap"
	"strings"
	"time"
)

// Timer calls a function at a scheduled time, by the time of events and queries. The call may come too early, because Schedule never postpones a timer.
// The function must therefore check whether its work is due.
type Timer struct {
	due  time.Time
	name string
	do   func(time.Time)
	// place is the timer's index in the queue plus 1, or 0 if the timer is not in the queue.
	place int
}

// NewTimer returns a timer that passes its scheduled time to a function.
func NewTimer(name string, do func(time.Time)) Timer { return Timer{name: name, do: do} }

// Queue holds the scheduled timers. Timers with the same due time run in the order of their names, so that the same
// transitions always produce the same incidents.
type Queue struct{ timers timers }

// Schedule schedules x for t, unless x is already scheduled for an earlier time.
func (q *Queue) Schedule(x *Timer, t time.Time) {
	switch {
	case x.place == 0:
		x.due = t
		heap.Push(&q.timers, x)
	case t.Before(x.due):
		x.due = t
		heap.Fix(&q.timers, x.place-1)
	}
}

// Stop removes x from the queue.
func (q *Queue) Stop(x *Timer) {
	if x.place > 0 {
		heap.Remove(&q.timers, x.place-1)
	}
}

// run runs the timers that are due at t, in the order of their due times. Before each timer, it calls `pass` with the
// timer's due time.
func (q *Queue) run(t time.Time, pass func(due time.Time)) {
	for len(q.timers) > 0 && !q.timers[0].due.After(t) {
		x := heap.Pop(&q.timers).(*Timer)
		pass(x.due)
		x.do(x.due)
	}
}

// timers implements heap.Interface.
type timers []*Timer

func (q *timers) Len() int { return len(*q) }

func (q *timers) Less(i, j int) bool {
	a, b := (*q)[i], (*q)[j]
	return cmp.Or(a.due.Compare(b.due), strings.Compare(a.name, b.name)) < 0
}

func (q *timers) Swap(i, j int) {
	s := *q
	s[i], s[j] = s[j], s[i]
	s[i].place, s[j].place = i+1, j+1
}

func (q *timers) Push(x any) {
	*q = append(*q, x.(*Timer))
	x.(*Timer).place = len(*q)
}

func (q *timers) Pop() any {
	s := *q
	x := s[len(s)-1]
	s[len(s)-1] = nil
	*q = s[:len(s)-1]
	x.place = 0
	return x
}
