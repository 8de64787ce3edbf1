package incident

import (
	"cmp"
	"container/heap"
	"strings"
	"time"
)

// timer makes sure that something is looked at when the mere passing of time may
// change it. It may be early: then nothing is due yet.
type timer struct {
	due  time.Time
	name string
	look func(time.Time)
	// place is where it is among the timers, from 1; 0 if it does not run.
	place int
}

// timers are those that run, the next one on top. At the same time they go by name:
// the same findings give the same incidents.
type timers []*timer

// wake lets x run by t at the latest.
func (q *timers) wake(x *timer, t time.Time) {
	switch {
	case x.place == 0:
		x.due = t
		heap.Push(q, x)
	case t.Before(x.due):
		x.due = t
		heap.Fix(q, x.place-1)
	}
}

func (q *timers) stop(x *timer) {
	if x.place > 0 {
		heap.Remove(q, x.place-1)
	}
}

// pop returns the next one that is due by t, nil if none is.
func (q *timers) pop(t time.Time) *timer {
	if len(*q) == 0 || (*q)[0].due.After(t) {
		return nil
	}
	return heap.Pop(q).(*timer)
}

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

// Push is heap.Interface's.
func (q *timers) Push(x any) {
	*q = append(*q, x.(*timer))
	x.(*timer).place = len(*q)
}

// Pop is heap.Interface's.
func (q *timers) Pop() any {
	s := *q
	x := s[len(s)-1]
	s[len(s)-1] = nil
	*q = s[:len(s)-1]
	x.place = 0
	return x
}
