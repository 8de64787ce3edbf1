// Package timer has the times at which the mere passing of time may change an incident.
package timer

import (
	"cmp"
	"container/heap"
	"strings"
	"time"
)

// Timer calls a function when it is due. It may be early: then the function finds nothing to do.
type Timer struct {
	due  time.Time
	name string
	do   func(time.Time)
	// place is its index in the queue plus 1; 0 if it is not in the queue.
	place int
}

// New makes a timer that calls do with the time at which it is due.
func New(name string, do func(time.Time)) Timer { return Timer{name: name, do: do} }

// Queue has the timers that run. Timers that are due at the same time run by name,
// so that the same transitions give the same incidents.
type Queue struct{ timers timers }

// Wake lets x run at t, unless it runs earlier.
func (q *Queue) Wake(x *Timer, t time.Time) {
	switch {
	case x.place == 0:
		x.due = t
		heap.Push(&q.timers, x)
	case t.Before(x.due):
		x.due = t
		heap.Fix(&q.timers, x.place-1)
	}
}

// Stop takes x out of the queue.
func (q *Queue) Stop(x *Timer) {
	if x.place > 0 {
		heap.Remove(&q.timers, x.place-1)
	}
}

// Run runs the timers that are due by t, in their order, and calls pass with the time of each before.
func (q *Queue) Run(t time.Time, pass func(due time.Time)) {
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
