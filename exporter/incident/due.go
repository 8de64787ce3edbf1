package incident

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

// task is what happens by the mere passing of time.
type task struct {
	due  time.Time
	name string
	do   func()
}

// remind makes sure that what is due at t is looked at then.
func (l *Log) remind(t time.Time) {
	if l.due.IsZero() || t.Before(l.due) {
		l.due = t
	}
}

// advance does what is due by t, in its order, so that it does not matter how often anyone asks.
func (l *Log) advance(t time.Time) {
	if t.After(l.now) {
		l.now = t
	}
	limit := l.now.Add(-lag)
	if l.swept.IsZero() {
		l.swept = limit
	}
	if limit.Sub(l.swept) >= sweepEvery {
		l.swept = limit
		l.sweep(limit)
	}
	if l.due.IsZero() || limit.Before(l.due) {
		return
	}
	tasks := l.tasks()
	slices.SortFunc(tasks, func(a, b task) int { return cmp.Or(a.due.Compare(b.due), strings.Compare(a.name, b.name)) })
	l.due = time.Time{}
	for _, x := range tasks {
		if x.due.After(limit) {
			l.remind(x.due)
		} else {
			x.do()
		}
	}
}

func (l *Log) tasks() []task {
	var all []task
	add := func(due time.Time, name string, do func()) { all = append(all, task{due, name, do}) }
	for key, r := range l.active {
		if !r.recovered.IsZero() {
			add(r.recovered.Add(quiet), key, func() {
				if !r.recovered.IsZero() {
					l.settle(r)
				}
			})
		}
		if due, ok := r.harmfulAt(); ok {
			add(due, key, func() { l.judge(r) })
		}
		if r.story == storyGrace {
			for name := range r.openNodes {
				if n := l.nodes[name]; n != nil && n.missed {
					due := n.gapFrom.Add(oneBeatLost)
					add(due, key+name, func() { l.outgrow(n, due) })
				}
			}
		}
	}
	for key, s := range l.services {
		if s.unclaimed() {
			add(s.outage.Add(claimWithin), key.String(), func() { l.claim(key, s, flap.CauseUnknown) })
		}
	}
	return all
}

// harmfulAt is when an incident that may be harmless is to be judged.
func (r *record) harmfulAt() (time.Time, bool) {
	if !r.harmless {
		return time.Time{}, false
	}
	if r.cause == flap.CauseServiceChanged {
		return r.start.Add(replacedWithin), true
	}
	var first time.Time
	for _, since := range r.out {
		if first.IsZero() || since.Before(first) {
			first = since
		}
	}
	return first.Add(quiet), !first.IsZero()
}

// judge decides about what looked harmless: addresses that stay out, or were not
// replaced, are harm.
func (l *Log) judge(r *record) {
	if !r.harmless {
		return
	}
	gained := 0
	if s := l.services[serviceKey{r.namespace, r.name}]; s != nil && s.gainedAt.After(r.start.Add(-replacedWithin)) {
		gained = s.gained
	}
	if r.cause != flap.CauseServiceChanged || r.lost > gained {
		l.show(r)
		return
	}
	// Chosen anew and replaced at once, as in a switch from blue to green.
	l.settle(r)
}

// sweep forgets what nothing can refer to any more.
func (l *Log) sweep(t time.Time) {
	old := t.Add(-quiet)
	for key, a := range l.addresses {
		if !a.isOut && a.at.Before(old) {
			delete(l.addresses, key)
		}
	}
	for key, p := range l.pods {
		if p.span == nil && p.at.Before(old) || p.at.Before(t.Add(-podMemory)) {
			delete(l.pods, key)
		}
	}
	for key, s := range l.services {
		if s.outage.IsZero() && s.lossAt.Before(old) && s.gainedAt.Before(old) {
			delete(l.services, key)
		}
	}
	for name, n := range l.nodes {
		if !n.missed && !n.notReady && n.seen.Before(t.Add(-nodeMemory)) {
			delete(l.nodes, name)
		}
	}
}
