package correlate

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// claimWithin is how long kubeflap waits for a lost address that explains an outage.
	claimWithin = 3 * time.Second
	// replacedWithin is the time within which a Service must replace lost ready addresses after a selector change.
	// Otherwise, the change counts as harmful.
	replacedWithin = 10 * time.Second
)

// service is the state of a Service that recently lost or gained addresses.
type service struct {
	// The list losses holds the Service's recent losses of addresses. The field lossAt is the time of the newest loss.
	losses []serviceLoss
	lossAt time.Time
	// The field outage is the start of the ongoing outage, or zero if there is none. It has the class. The field record is the outage's
	// incident, or nil while the incident is unknown.
	outage  time.Time
	class   cause.Class
	trigger uint64
	record  *ledger.Record
	span    *incident.Span
	// The list waited holds what the Service waits for in the ongoing outage, and what it waited for before. The last one
	// is the current wait if `waiting` is set, since waitingSince.
	waited       []incident.Waited
	waiting      bool
	waitingSince time.Time
	// The field gained is the number of ready addresses that the Service recently gained. gainedAt is the time of the
	// newest gain.
	gained   int
	gainedAt time.Time
	// The field changed is the incident of a selector change, or nil. The method judge decides whether the change was
	// harmful.
	changed *ledger.Record
	timer   ledger.Timer
}

// serviceLoss describes addresses that were lost at the same time for the same cause. The field record is their
// incident.
type serviceLoss struct {
	at     time.Time
	cause  cause.Cause
	record *ledger.Record
}

// noteLoss records a loss. Losses can arrive out of order, because the tracker may wait for the cause of a loss.
func (s *service) noteLoss(x serviceLoss) {
	s.lossAt = later(s.lossAt, x.at)
	s.losses = slices.DeleteFunc(s.losses, func(y serviceLoss) bool {
		return s.lossAt.Sub(y.at) > claimWithin || y.at.Equal(x.at) && y.cause == x.cause
	})
	s.losses = append(s.losses, x)
}

// recordOf returns an incident in which the Service lost addresses at t. It prefers losses with the given cause. It
// returns nil if no address was lost at t.
func (s *service) recordOf(t time.Time, why cause.Cause) *ledger.Record {
	var last *ledger.Record
	for _, x := range s.losses {
		switch {
		case !x.at.Equal(t):
		case x.cause == why:
			return x.record.Root()
		default:
			last = x.record.Root()
		}
	}
	return last
}

func (s *service) unclaimed() bool { return !s.outage.IsZero() && s.record == nil }

func (l *services) named(x transition.Service) *service {
	s := l.lately[x]
	if s == nil {
		s = &service{}
		s.timer = ledger.NewTimer("service/"+x.Namespace+"/"+x.Name, func(t time.Time) { l.handleTimer(x, s, t) })
		l.lately[x] = s
	}
	return s
}

// lostAddress records the loss of an address. If an outage started at the same time, the outage belongs to the incident
// r.
func (l *services) lostAddress(r *ledger.Record, x transition.AddressLost) {
	s := l.named(x.Service)
	s.noteLoss(serviceLoss{x.Time, x.Cause, r})
	if s.unclaimed() && s.outage.Equal(x.Time) {
		l.beginOutage(x.Service, s, r)
	}
}

// lostForeign records that a foreign address was removed, or that a known manager removed its own address. If this
// starts an outage, the outage belongs to the newest incident in which the Service lost addresses.
func (l *services) lostForeign(x transition.AddressLost) {
	s := l.named(x.Service)
	if n := len(s.losses); n > 0 && !s.losses[n-1].record.Root().Settled {
		s.noteLoss(serviceLoss{x.Time, x.Cause, s.losses[n-1].record.Root()})
	}
}

// addressReady handles an address that became ready.
func (l *services) addressReady(x transition.Address, t time.Time) {
	s := l.named(x.Service)
	if t.Sub(s.gainedAt) > replacedWithin {
		s.gained = 0
	}
	s.gained++
	s.gainedAt = t
	l.serviceRestored(x.Service, t)
	l.addressReturned(x, t)
}

// outageStarted records the loss of a Service's last ready address.
func (l *services) outageStarted(x transition.OutageStarted) {
	s := l.named(x.Service)
	if !s.outage.IsZero() {
		// The end of the previous outage was not reported.
		l.claim(x.Service, s, cause.Unknown)
		l.endOutage(x.Service, s, x.Time, incident.OutageEnded, s.class, 0, x.Time.Sub(s.outage))
	}
	s.outage, s.trigger, s.class = x.Time, x.Trigger, x.Class
	if r := s.recordOf(x.Time, x.Cause); r != nil {
		l.beginOutage(x.Service, s, r)
		return
	}
	if subject, ok := l.SubjectOfOutage(x.Service, x.FoundAt()); ok {
		l.beginOutage(x.Service, s, l.Begin(subject, x.Time, x.Trigger))
		return
	}
	l.Timers.Schedule(&s.timer, x.Time.Add(claimWithin))
}

func (l *services) beginOutage(x transition.Service, s *service, r *ledger.Record) {
	s.record = r
	l.Show(r)
	r.Outages++
	effect := r.EffectOn(x)
	effect.Outages++
	effect.Classes[s.class]++
	r.Open[incident.OpenOutage(x)] = s.outage
	s.span = r.Timeline.Begin(incident.TrackOutage, x.Namespace+"/"+x.Name, s.outage)
	l.Note(r, incident.Entry{Kind: incident.OutageStarted, Time: s.outage, Service: x})
}

// claim creates an incident for an outage that no lost address explains.
func (l *services) claim(x transition.Service, s *service, why cause.Cause) {
	if s.unclaimed() {
		l.beginOutage(x, s, l.Begin(incident.ServiceSubject(x, why), s.outage, s.trigger))
	}
}

// outageWaits records what a Service without a ready address waits for. If another writer removed the addresses, the
// cause of the incident already shows what keeps the outage going.
func (l *services) outageWaits(x transition.OutageWaits) {
	s := l.named(x.Service)
	if s.outage.IsZero() {
		return
	}
	l.claim(x.Service, s, cause.Unknown)
	r := s.record.Root()
	if r.Cause == cause.EndpointsReset || r.Cause == cause.ManualWrite {
		return
	}
	if x.Wait.Kind == "" {
		s.endWait(x.Time)
	} else {
		s.endWait(x.Wait.Since)
		s.beginWait(x.Service, x.Wait)
	}
	r.EffectOn(x.Service).Wait = x.Wait
	l.Mark(r)
}

// beginWait begins a wait. It continues an earlier wait of the same kind and pod.
func (s *service) beginWait(x transition.Service, w transition.Wait) {
	again := incident.Waited{Service: x, Wait: w}
	s.waited = slices.DeleteFunc(s.waited, func(was incident.Waited) bool {
		same := was.Kind == w.Kind && was.UID == w.UID
		if same {
			again.Lasted, again.Since = was.Lasted, was.Since
		}
		return same
	})
	s.waited, s.waiting, s.waitingSince = append(s.waited, again), true, w.Since
}

// endWait ends the current wait.
func (s *service) endWait(t time.Time) {
	if s.waiting {
		s.waited[len(s.waited)-1].Lasted += max(t.Sub(s.waitingSince), 0)
		s.waiting = false
	}
}

// outageEnded records that a Service has a ready address again.
func (l *services) outageEnded(x transition.OutageEnded) {
	s := l.named(x.Service)
	if s.outage.IsZero() {
		s.outage, s.class = x.Time.Add(-x.Lasted), x.Class
	}
	l.claim(x.Service, s, x.Cause)
	l.endOutage(x.Service, s, x.Time, incident.OutageEnded, x.Class, x.AtLeast, x.AtMost)
}

// endOutage ends an outage of a class. It lasted from atLeast to atMost.
func (l *services) endOutage(x transition.Service, s *service, t time.Time, how incident.EntryKind, class cause.Class, atLeast, atMost time.Duration) {
	r := s.record.Root()
	lasted := max(t.Sub(s.outage), 0)
	r.OutageTime += lasted
	effect := r.EffectOn(x)
	effect.OutageTime += lasted
	effect.Classes[s.class]--
	effect.Classes[class]++
	effect.AtLeast, effect.AtMost = effect.AtLeast+atLeast, effect.AtMost+atMost
	delete(r.Open, incident.OpenOutage(x))
	s.span = s.span.Close(t)
	s.endWait(t)
	for _, w := range s.waited {
		r.WaitEnded(w)
	}
	r.EffectOn(x).Wait = transition.Wait{}
	s.outage, s.record, s.waited = time.Time{}, nil, nil
	endRemoval(r, t)
	l.Note(r, incident.Entry{Kind: how, Time: t, Service: x, Duration: atLeast, AtMost: atMost})
}

// judgeLater schedules the decision on whether a selector change harmed a Service.
func (l *services) judgeLater(x transition.Service, r *ledger.Record) {
	s := l.named(x)
	s.changed = r
	l.Timers.Schedule(&s.timer, r.Start.Add(replacedWithin))
}

// handleTimer runs when the Service's timer is due. It judges a selector change, and creates an incident for an outage
// that no lost address explains.
func (l *services) handleTimer(x transition.Service, s *service, t time.Time) {
	if s.changed != nil {
		if due := s.changed.Start.Add(replacedWithin); due.After(t) {
			l.Timers.Schedule(&s.timer, due)
		} else {
			l.judge(x, s.changed)
			s.changed = nil
		}
	}
	switch due := s.outage.Add(claimWithin); {
	case !s.unclaimed() || l.lately[x] != s:
	case due.After(t):
		l.Timers.Schedule(&s.timer, due)
	default:
		l.claim(x, s, cause.Unknown)
	}
}

// judge decides whether a selector change was harmful. It is harmless if the Service gained as many addresses as it
// lost, as in a blue-green switch.
func (l *services) judge(x transition.Service, r *ledger.Record) {
	if r.Shown || r.Settled {
		return
	}
	gained := 0
	if s := l.lately[x]; s != nil && s.gainedAt.After(r.Start.Add(-replacedWithin)) {
		gained = s.gained
	}
	if r.Lost > gained {
		l.Show(r)
	} else {
		l.Settle(r)
	}
}
