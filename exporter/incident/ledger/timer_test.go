package ledger

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestTimersRunByTimeAndThenByName(t *testing.T) {
	var q Queue
	var ran []string
	timers := map[string]*Timer{}
	for _, name := range []string{"b", "a", "early", "stopped", "late"} {
		x := NewTimer(name, func(time.Time) { ran = append(ran, name) })
		timers[name] = &x
		q.Schedule(&x, zero.Add(10*time.Second))
	}
	q.Schedule(timers["early"], zero.Add(5*time.Second))
	q.Schedule(timers["b"], zero.Add(time.Minute)) // this has no effect, because b is already scheduled for 10 s
	q.Stop(timers["stopped"])
	q.Stop(timers["late"])
	q.Schedule(timers["late"], zero.Add(11*time.Second))
	run := func(until float64, want string) {
		t.Helper()
		for x, due := q.next(at(until)); x != nil; x, due = q.next(at(until)) {
			ran = append(ran, fmt.Sprint(due.Sub(zero).Seconds()))
			x.do(due)
		}
		if got := strings.Join(ran, " "); got != want {
			t.Errorf("until %g: ran %s", until, got)
		}
	}
	run(10, "5 early 10 a 10 b")
	run(3600, "5 early 10 a 10 b 11 late")
}
