package losses

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Outage is a time during which a Service has no ready address. It has the same cause as the loss with which it began.
type Outage struct {
	Since time.Time
	Class cause.Class
	// live is set if kubeflap saw the start without delay.
	live bool
	// undecided is set until the loss with which the outage began has been reported. Then the cause is known.
	undecided bool
	cause     cause.Cause
	// `ended` is the end of the outage if it came while the cause was undecided.
	ended *transition.OutageEnded
}

// goneWithin is the maximum time between the loss of a Service's own addresses and the removal of its foreign
// addresses. A removal within this time does not count as the cause of an outage (transition.AddressLost, Foreign).
const goneWithin = 2 * time.Minute

// BeginOutage begins an outage with the last of the losses that an event made. If the removed foreign addresses outlasted
// the Service's own addresses by more than goneWithin, they no longer count as foreign. `live` reports whether kubeflap
// saw the event without delay.
func (q *Losses) BeginOutage(s *Service, t time.Time, live bool, made []*Loss) {
	s.Outages[cause.Unplanned]++
	s.Outage = &Outage{Since: t, live: live, undecided: len(made) > 0}
	for _, l := range made {
		l.Change.Foreign = l.Change.Foreign && s.ownLost != 0 && l.Change.Time.Sub(q.watches.Time(s.ownLost)) <= goneWithin
	}
	if len(made) > 0 {
		made[len(made)-1].outage = s.Outage
	}
}

// EndOutage ends the current outage of a Service, and reports its end once the cause is known.
func (q *Losses) EndOutage(s *Service, t time.Time, live bool) {
	o := s.Outage
	s.Outage, s.Over[o.Class] = nil, q.watches.Moment(t)
	s.OutageTime[o.Class] += q.watches.Counted(o.Since, t)
	o.ended = &transition.OutageEnded{At: at(t), Service: s.Name, Lasted: t.Sub(o.Since), Cause: o.cause, Complete: live && o.live}
	if !o.undecided {
		q.Report(s, *o.ended)
	}
}

// ContinueOutage begins an outage that had begun before the first lists.
func (q *Losses) ContinueOutage(s *Service, since, t time.Time) {
	s.Outage = &Outage{Since: since}
	q.Report(s, transition.OutageStarted{At: transition.At{Time: since, Waited: t.Sub(since)}, Service: s.Name})
}
