package ledger

import (
	"cmp"
	"slices"
	"strings"
	"time"
)

// Timer calls a function at a scheduled time, by the time of events and queries. The call may come too early, because Schedule never postpones a timer.
// The function must therefore check whether its work is due.
type Timer struct {
	// The field due is zero if the timer is not in the queue.
	due  time.Time
	name string
	do   func(time.Time)
}

// NewTimer returns a timer that passes its scheduled time to a function.
func NewTimer(name string, do func(time.Time)) Timer { return Timer{name: name, do: do} }

// Queue holds the scheduled timers, the next one first. Timers with the same due time run in the order of their names, so
// that the same transitions always produce the same incidents.
type Queue []*Timer

// Schedule schedules x for t, unless x is already scheduled for an earlier time.
func (q *Queue) Schedule(x *Timer, t time.Time) {
	if !x.due.IsZero() && !t.Before(x.due) {
		return
	}
	q.Stop(x)
	x.due = t
	i, _ := slices.BinarySearchFunc(*q, x, func(a, b *Timer) int { return cmp.Or(a.due.Compare(b.due), strings.Compare(a.name, b.name)) })
	*q = slices.Insert(*q, i, x)
}

// Stop removes x from the queue.
func (q *Queue) Stop(x *Timer) {
	if x.due.IsZero() {
		return
	}
	i := slices.Index(*q, x)
	*q = slices.Delete(*q, i, i+1)
	x.due = time.Time{}
}

// next removes and returns the first timer that is due at t, and its due time. It returns nil if there is none.
func (q *Queue) next(t time.Time) (x *Timer, due time.Time) {
	if len(*q) == 0 || (*q)[0].due.After(t) {
		return nil, due
	}
	x = (*q)[0]
	due = x.due
	q.Stop(x)
	return x, due
}
