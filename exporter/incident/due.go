package incident

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

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
	for x := l.timers.pop(limit); x != nil; x = l.timers.pop(limit) {
		x.look(x.due)
	}
}

// lookAtRecord does what is due of an incident by t.
func (l *Log) lookAtRecord(r *record, t time.Time) {
	if !r.alone.IsZero() && !r.alone.After(t) {
		r.alone = time.Time{}
		l.makeRoom()
	}
	if !r.recovered.IsZero() && !r.recovered.Add(quiet).After(t) {
		l.settle(r)
	}
	if due, ok := r.harmfulAt(); ok && !due.After(t) {
		l.judge(r)
	}
	if r.settled {
		return
	}
	if !r.alone.IsZero() {
		l.timers.wake(&r.timer, r.alone)
	}
	if !r.recovered.IsZero() {
		l.timers.wake(&r.timer, r.recovered.Add(quiet))
	}
	if due, ok := r.harmfulAt(); ok {
		l.timers.wake(&r.timer, due)
	}
}

// lookAtNode takes a node that is away for longer out of the incident of a grace period that is too short.
func (l *Log) lookAtNode(n *node, t time.Time) {
	switch due := n.gapFrom.Add(oneBeatLost); {
	case !n.missed:
	case due.After(t):
		l.timers.wake(&n.timer, due)
	default:
		l.outgrow(n, due)
	}
}

// lookAtService gives an outage an incident if no loss has claimed it by t.
func (l *Log) lookAtService(key serviceKey, s *service, t time.Time) {
	switch due := s.outage.Add(claimWithin); {
	case !s.unclaimed() || l.services[key] != s:
	case due.After(t):
		l.timers.wake(&s.timer, due)
	default:
		l.claim(key, s, cause.Unknown)
	}
}

// harmfulAt is when an incident that may be harmless is to be judged.
func (r *record) harmfulAt() (time.Time, bool) {
	if !r.harmless || r.settled {
		return time.Time{}, false
	}
	if r.cause == cause.ServiceChanged {
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
	gained := 0
	if s := l.services[serviceKey{r.namespace, r.name}]; s != nil && s.gainedAt.After(r.start.Add(-replacedWithin)) {
		gained = s.gained
	}
	if r.cause != cause.ServiceChanged || r.lost > gained {
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
		if !a.isOut && a.at < l.moment(old) {
			delete(l.addresses, key)
		}
	}
	for key, p := range l.pods {
		if p.span == nil && p.at < l.moment(old) || p.at < l.moment(t.Add(-podMemory)) {
			delete(l.pods, key)
		}
	}
	for key, s := range l.services {
		if s.outage.IsZero() && s.lossAt.Before(old) && s.gainedAt.Before(old) {
			delete(l.services, key)
		}
	}
	l.forgetNodes(t)
}
