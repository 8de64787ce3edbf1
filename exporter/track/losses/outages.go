package losses

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/classes"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// goneWithin is the maximum time between the loss of a Service's own addresses and the removal of its foreign
// addresses. A removal within this time does not count as the cause of an outage (transition.AddressLost, Foreign).
const goneWithin = 2 * time.Minute

// BeginOutage begins an outage with the losses that an event made. If the removed foreign addresses outlasted the
// Service's own addresses by more than goneWithin, they no longer count as foreign. `earliest` is the earliest possible
// time of the event.
func (q *Losses) BeginOutage(s *Service, t, earliest time.Time, made []*Loss) {
	o := &classes.Outage{Since: t, Earliest: earliest, Undecided: len(made) > 0, Addresses: addressesOf(s, &q.ReadFrom)}
	var lost []*classes.Loss
	for _, l := range made {
		l.Change.Foreign = l.Change.Foreign && s.ownLost != 0 && l.Change.Time.Sub(q.watches.Time(s.ownLost)) <= goneWithin
		lost = append(lost, &l.Loss)
	}
	if len(made) > 0 {
		made[len(made)-1].began = o
	}
	q.Begin(&s.Service, o, lost)
}

func addressesOf(s *Service, from *event.Kind) func() []event.UID {
	return func() (ids []event.UID) {
		for _, a := range s.Addresses(*from) {
			ids = append(ids, a.ID)
		}
		return ids
	}
}

// FindOutage begins an outage of a Service that had no ready address in the first lists.
func FindOutage(q *Losses, s *Service) {
	q.Find(&s.Service, &classes.Outage{Addresses: addressesOf(s, &q.ReadFrom)})
}

// EndOutage ends the current outage of a Service, and reports its end once the cause is known. `earliest` is the earliest
// possible time of the event.
func (q *Losses) EndOutage(s *Service, t, earliest time.Time) {
	o := s.Outage
	q.End(&s.Service)
	o.Ended = &transition.OutageEnded{
		At: at(t), Service: s.Name, Lasted: t.Sub(o.Down), AtLeast: max(earliest.Sub(o.Down), 0), AtMost: t.Sub(cmp.Or(o.Earliest, o.Down)), Cause: o.Cause, Class: o.Class,
	}
	if !o.Undecided && !o.Found {
		q.Report(s, *o.Ended)
	}
}

// ContinueOutage begins an outage that had begun before the first lists. `found` is set if it had begun before the first
// process was started.
func (q *Losses) ContinueOutage(s *Service, since time.Time, class cause.Class, found bool, t time.Time) {
	if q.Continue(&s.Service, &classes.Outage{Since: since, Earliest: since, Class: class, Found: found, Addresses: addressesOf(s, &q.ReadFrom)}); !found {
		q.Report(s, transition.OutageStarted{At: transition.At{Time: since, Waited: t.Sub(since)}, Service: s.Name, Class: class})
	}
}
