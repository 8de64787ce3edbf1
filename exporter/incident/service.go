package incident

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// claimWithin is how long an outage waits for the loss that it began with.
const claimWithin = 3 * time.Second

type serviceKey struct{ namespace, name string }

func keyOf(x transition.Service) serviceKey { return serviceKey{x.Namespace, x.Name} }

// String is the Service as sentences have it.
func (k serviceKey) String() string { return k.namespace + "/" + k.name }

// service is what the log remembers of a Service that lost addresses.
type service struct {
	// name is its namespace and name.
	name string
	// losses are the last moments at which it lost some; lossAt is the newest.
	losses []lossMark
	lossAt time.Time
	// outage is since when it has no ready address, zero if it has; record is
	// the incident that this belongs to, nil until it is known.
	outage  time.Time
	trigger uint64
	record  *record
	span    *stretch
	// gained counts the ready addresses that came to it around gainedAt.
	gained   int
	gainedAt time.Time
	timer    timer
}

// lossMark is a moment at which a Service lost addresses for a cause, and their incident.
type lossMark struct {
	at     time.Time
	cause  cause.Cause
	record *record
}

// noteLoss notes a loss. One that waited for its cause comes in behind later ones.
func (s *service) noteLoss(x lossMark) {
	if x.at.After(s.lossAt) {
		s.lossAt = x.at
	}
	s.losses = slices.DeleteFunc(s.losses, func(y lossMark) bool {
		return s.lossAt.Sub(y.at) > claimWithin || y.at.Equal(x.at) && y.cause == x.cause
	})
	s.losses = append(s.losses, x)
}

// lossOf is the incident of the loss that an outage began with; nil if it is not known.
func (s *service) lossOf(t time.Time, why cause.Cause) *record {
	var last *record
	for _, x := range s.losses {
		switch {
		case !x.at.Equal(t):
		case x.cause == why:
			return x.record.root()
		default:
			last = x.record.root()
		}
	}
	return last
}

func (s *service) unclaimed() bool { return !s.outage.IsZero() && s.record == nil }

func (l *Log) serviceOf(key serviceKey) *service {
	s := l.services[key]
	if s == nil {
		s = &service{name: key.String()}
		s.timer = timer{name: "service/" + s.name, look: func(t time.Time) { l.lookAtService(key, s, t) }}
		l.services[key] = s
	}
	return s
}

// claimFor notes a loss; an outage that began with it belongs to its incident.
func (l *Log) claimFor(key serviceKey, r *record, x transition.AddressLost) {
	s := l.serviceOf(key)
	s.noteLoss(lossMark{x.Time, x.Cause, r})
	if s.unclaimed() && s.outage.Equal(x.Time) {
		l.beginOutage(key, s, r)
	}
}

func (l *Log) outageStarted(x transition.OutageStarted) {
	key := keyOf(x.Service)
	s := l.serviceOf(key)
	if !s.outage.IsZero() {
		// The end of the one before was not told.
		l.claim(key, s, cause.Unknown)
		l.endOutage(key, s, x.Time, stageOutageOver)
	}
	s.outage, s.trigger = x.Time, x.Trigger
	if r := s.lossOf(x.Time, x.Cause); r != nil {
		l.beginOutage(key, s, r)
		return
	}
	l.timers.wake(&s.timer, x.Time.Add(claimWithin))
}

func (l *Log) beginOutage(key serviceKey, s *service, r *record) {
	s.record = r
	l.show(r)
	r.outages++
	r.down[key] = s.outage
	r.effectOn(key).outages++
	s.span = l.span(r, LaneOutage, s.name, s.outage)
	r.add(fact{at: l.moment(s.outage), stage: stageOutage, service: key})
	l.touched(r, s.outage)
}

// claim gives an outage that no loss explains an incident of its own.
func (l *Log) claim(key serviceKey, s *service, why cause.Cause) {
	if s.unclaimed() {
		subject := subject{story: storyService, namespace: key.namespace, name: key.name, cause: why}
		l.beginOutage(key, s, l.begin(subject, s.outage, s.trigger))
	}
}

func (l *Log) outageEnded(x transition.OutageEnded) {
	key := keyOf(x.Service)
	s := l.serviceOf(key)
	if s.outage.IsZero() {
		s.outage = x.Time.Add(-x.Lasted)
	}
	l.claim(key, s, x.Cause)
	l.endOutage(key, s, x.Time, stageOutageOver)
}

func (l *Log) endOutage(key serviceKey, s *service, t time.Time, how stage) {
	r := s.record.root()
	lasted := max(t.Sub(s.outage), 0)
	delete(r.down, key)
	r.outageTime += lasted
	r.effectOn(key).outageTime += lasted
	l.end(&s.span, t)
	r.add(fact{at: l.moment(t), stage: how, service: key, longest: lasted})
	s.outage, s.record = time.Time{}, nil
	l.notWiped(r, t)
	l.touched(r, t)
}

// notWiped: what was wiped is there again, or is not wanted any more.
func (l *Log) notWiped(r *record, t time.Time) {
	r.wiped = false
	l.end(&r.wipe, t)
}

// reset takes in the wipe of hand-written addresses.
func (l *Log) reset(x transition.EndpointsReset) {
	why := cause.ManualWrite
	if x.BySelector {
		why = cause.EndpointsReset
	}
	r := l.begin(subject{story: storyService, namespace: x.Namespace, name: x.Name, cause: why}, x.Time, x.Trigger)
	r.resets++
	r.effectOn(keyOf(x.Service))
	if x.BySelector && !r.wiped {
		r.wiped = true
		r.wipe = l.span(r, LaneAddress, x.Namespace+"/"+x.Name, x.Time)
	}
	r.add(fact{at: l.moment(x.Time), stage: stageReset, service: keyOf(x.Service), number: x.Count})
	l.touched(r, x.Time)
}

// rewritten takes in that what was wiped is there again: to be wiped again, as long as the conflict goes on.
func (l *Log) rewritten(x transition.EndpointsRewritten) {
	r := l.find(bomb(keyOf(x.Service)).key(), x.Time)
	if r == nil || !r.wiped {
		return
	}
	l.notWiped(r, x.Time)
	r.add(fact{at: l.moment(x.Time), stage: stageRewritten, service: keyOf(x.Service), number: x.Count})
	l.touched(r, x.Time)
}

func bomb(key serviceKey) subject {
	return subject{story: storyService, namespace: key.namespace, name: key.name, cause: cause.EndpointsReset}
}

func (l *Log) conflict(x transition.SelectorConflict) {
	r := l.begin(bomb(keyOf(x.Service)), x.Time, x.Trigger)
	r.conflict = true
	r.effectOn(keyOf(x.Service))
	r.add(fact{at: l.moment(x.Time), stage: stageConflict, service: keyOf(x.Service), number: x.Count})
	r.bomb = l.span(r, LaneConflict, x.Namespace+"/"+x.Name, x.Time)
	l.touched(r, x.Time)
}

func (l *Log) conflictEnded(key serviceKey, t time.Time) {
	r := l.find(bomb(key).key(), t)
	if r == nil || !r.conflict {
		return
	}
	r.conflict = false
	l.notWiped(r, t)
	l.end(&r.bomb, t)
	r.add(fact{at: l.moment(t), stage: stageDefused, service: key})
	l.touched(r, t)
}

// serviceGained: a ready address came to the Service.
func (l *Log) serviceGained(key serviceKey, t time.Time) {
	s := l.serviceOf(key)
	if t.Sub(s.gainedAt) > replacedWithin {
		s.gained = 0
	}
	s.gained++
	s.gainedAt = t
	if r := l.active[bomb(key).key()]; r != nil && r.wiped {
		l.notWiped(r, t)
		l.touched(r, t)
	}
}

// serviceRemoved ends what waits for a Service that is not there any more.
func (l *Log) serviceRemoved(x transition.ServiceRemoved) {
	key := keyOf(x.Service)
	if s := l.services[key]; s != nil {
		if s.record != nil && !s.outage.IsZero() {
			l.endOutage(key, s, x.Time, stageServiceRemoved)
		}
		delete(l.services, key)
	}
	for k, a := range l.addresses {
		if k.serviceKey != key {
			continue
		}
		if a.isOut {
			r := a.record.root()
			delete(r.out, k)
			l.end(&a.span, x.Time)
			l.touched(r, x.Time)
		}
		delete(l.addresses, k)
	}
	l.conflictEnded(key, x.Time)
}
