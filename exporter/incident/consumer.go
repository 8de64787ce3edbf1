package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

// change is an address that left rotation or came back.
type change struct {
	key addressKey
	at  time.Time
	in  bool
}

// noteChange notes it for windows, which are told of updates in place only.
func (r *record) noteChange(key addressKey, t time.Time, in bool) {
	if r.cause == flap.CauseInPlaceUpdate && len(r.changes) < maxChanges {
		r.changes = append(r.changes, change{key, t, in})
	}
}

// windows says what consumers would have done that gather changes for a while,
// as load-balancer controllers do.
func (r *record) windows() []Window {
	var all []Window
	for _, length := range []time.Duration{0, 2 * time.Second, 5 * time.Second, 10 * time.Second} {
		all = append(all, Window{length, bouncesAt(r.changes, length)})
	}
	return all
}

// applied is an address as the consumer has it.
type applied struct{ out, wasBack bool }

// bouncesAt counts the addresses that a consumer would have put back and taken out again.
// It waits for the window from the first change on, then applies what is true by then.
func bouncesAt(changes []change, window time.Duration) int {
	bounces := 0
	held := map[addressKey]*applied{}
	waiting := map[addressKey]bool{}
	var until time.Time
	apply := func() {
		for key, in := range waiting {
			a := held[key]
			if a == nil {
				a = &applied{}
				held[key] = a
			}
			switch {
			case !in && !a.out && a.wasBack:
				bounces++
				a.out = true
			case !in:
				a.out = true
			case a.out:
				a.out, a.wasBack = false, true
			}
		}
		clear(waiting)
	}
	for _, c := range changes {
		if len(waiting) > 0 && c.at.After(until) {
			apply()
		}
		if len(waiting) == 0 {
			until = c.at.Add(window)
		}
		waiting[c.key] = c.in
		if window == 0 {
			apply()
		}
	}
	apply()
	return bounces
}
