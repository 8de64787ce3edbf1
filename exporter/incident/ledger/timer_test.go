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
	var passed []time.Duration
	pass := func(due time.Time) { passed = append(passed, due.Sub(zero)) }
	q.run(zero.Add(10*time.Second), pass)
	if got := strings.Join(ran, " "); got != "early a b" {
		t.Errorf("ran %s", got)
	}
	q.run(zero.Add(time.Hour), pass)
	if got := strings.Join(ran, " "); got != "early a b late" {
		t.Errorf("ran %s", got)
	}
	if got := fmt.Sprint(passed); got != "[5s 10s 10s 11s]" {
		t.Errorf("passed %s", got)
	}
}
