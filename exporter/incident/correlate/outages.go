package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// replacedWithin is the time within which a Service must replace lost ready addresses after a selector change. Otherwise,
// the change counts as harmful.
const replacedWithin = 10 * time.Second

// service is the state of a Service that recently lost or gained addresses.
type service struct {
	// The field lossAt is the time of the newest loss of an address. The field loss is its incident, or nil.
	lossAt time.Time
	loss   *ledger.Record
	// The field record is the incident of the ongoing outage, or nil if there is none. The outage began at a time, with a
	// class.
	record *ledger.Record
	outage time.Time
	class  cause.Class
	// The field earlier is the incident of an outage that was ongoing before kubeflap's observation, until the outage is found
	// or turns out to be over. Otherwise, it is nil.
	earlier *ledger.Record
	// The field gained is the number of ready addresses that the Service recently gained. gainedAt is the time of the
	// newest gain.
	gained   int
	gainedAt time.Time
	// The field changed is the incident of a selector change, or nil. The method judge decides whether the change was
	// harmful.
	changed *ledger.Record
	timer   ledger.Timer
}

func (l *services) named(x transition.Service) *service {
	s := l.lately[x]
	if s == nil {
		s = &service{}
		s.timer = ledger.NewTimer("service/"+x.Namespace+"/"+x.Name, func(t time.Time) { l.judge(x, s, t) })
		l.lately[x] = s
	}
	return s
}

// lostForeign records that a foreign address was removed, or that a known manager removed its own address. If this
// starts an outage, the outage belongs to the newest incident in which the Service lost addresses.
func (l *services) lostForeign(x transition.AddressLost) {
	if s := l.named(x.Service); s.loss != nil && !s.loss.Root().Settled {
		s.lossAt = x.Time
	}
}

// addressReady handles an address that became ready.
func (l *services) addressReady(x transition.Address, t time.Time) {
	s := l.named(x.Service)
	if t.Sub(s.gainedAt) > replacedWithin {
		s.gained = 0
	}
	s.gained++
	s.gainedAt, s.earlier = t, nil
	l.serviceRestored(x.Service, t)
	l.addressReturned(x, t)
}

// outageStarted records the loss of a Service's last ready address. The tracker has just reported this loss. If it was of
// a foreign address, no incident may explain the outage.
func (l *services) outageStarted(x transition.OutageStarted) {
	s := l.named(x.Service)
	switch {
	case s.loss != nil && s.lossAt.Equal(x.Time):
		s.record = s.loss.Root()
	case s.earlier != nil && !s.earlier.Root().HasEndedBy(x.FoundAt()):
		s.record = s.earlier.Root()
	default:
		s.record = l.Begin(incident.ServiceSubject(x.Service, cause.Unknown), x.Time, x.Trigger)
	}
	s.outage, s.class, s.earlier = x.Time, x.Class, nil
	l.Show(s.record)
	s.record.BeginOutage(x.Service, x.Time, x.Class)
	l.Note(s.record, incident.Entry{Kind: incident.OutageStarted, Time: x.Time, Service: x.Service})
}

// outageWaits records what a Service without a ready address waits for. If another writer removed the addresses, the
// cause of the incident already shows what keeps the outage going.
func (l *services) outageWaits(x transition.OutageWaits) {
	s := l.named(x.Service)
	if s.record == nil {
		return
	}
	if r := s.record.Root(); r.Cause != cause.EndpointsReset && r.Cause != cause.ManualWrite {
		r.WaitsFor(x.Service, x.Wait, x.Time)
	}
}

// outageEnded records that a Service has a ready address again.
func (l *services) outageEnded(x transition.OutageEnded) {
	if s := l.named(x.Service); s.record != nil {
		l.endOutage(x.Service, s, x.Time, incident.OutageEnded, x.Class, x.AtLeast, x.AtMost)
	}
}

// endOutage ends an outage of a class. It lasted from atLeast to atMost.
func (l *services) endOutage(x transition.Service, s *service, t time.Time, how incident.EntryKind, class cause.Class, atLeast, atMost time.Duration) {
	r := s.record.Root()
	r.EndOutage(x, s.outage, t, s.class, class, atLeast, atMost)
	s.record = nil
	endRemoval(r, x, t)
	l.Note(r, incident.Entry{Kind: how, Time: t, Service: x, Duration: atLeast, AtMost: atMost})
}

// judgeLater schedules the decision on whether a selector change harmed a Service.
func (l *services) judgeLater(x transition.Service, r *ledger.Record) {
	s := l.named(x)
	s.changed = r
	l.Timers.Schedule(&s.timer, r.Start.Add(replacedWithin))
}

// judge decides whether a selector change was harmful. It is harmless if the Service gained as many addresses as it
// lost, as in a blue-green switch.
func (l *services) judge(x transition.Service, s *service, t time.Time) {
	r := s.changed
	if r == nil {
		return
	}
	if due := r.Start.Add(replacedWithin); due.After(t) {
		l.Timers.Schedule(&s.timer, due)
		return
	}
	s.changed = nil
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
