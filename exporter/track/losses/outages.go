package losses

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Outage is a time during which a Service has no ready address. It has the same cause as the loss with which it began.
type Outage struct {
	Since time.Time
	Class cause.Class

	service *Service
	// live is set if kubeflap saw the start without delay.
	live bool
	// undecided is set until the loss with which the outage began has been reported. Then the cause is known.
	undecided bool
	cause     cause.Cause
	// `ended` is the end of the outage if it came while the cause was undecided.
	ended *transition.OutageEnded

	// Found is set if the Service had no ready address in the first lists. Such an outage is not counted.
	Found bool
	// final is set once the class cannot change and the outage has been counted.
	final bool
	// made holds the losses with which the outage began, until the class is final. owners holds the owners of the
	// Service's last pods. A pod of an unknown owner has the zero name.
	made   []*Loss
	owners []event.WorkloadName
	// counted is the time up to which the outage has been counted, and until is its end, both by classes.clock.
	counted, until time.Time
}

// goneWithin is the maximum time between the loss of a Service's own addresses and the removal of its foreign
// addresses. A removal within this time does not count as the cause of an outage (transition.AddressLost, Foreign).
const goneWithin = 2 * time.Minute

// BeginOutage begins an outage with the losses that an event made. If the removed foreign addresses outlasted the
// Service's own addresses by more than goneWithin, they no longer count as foreign. `live` reports whether kubeflap saw
// the event without delay.
func (q *Losses) BeginOutage(s *Service, t time.Time, live bool, made []*Loss) {
	o := &Outage{Since: t, live: live, undecided: len(made) > 0, made: made, counted: q.clock()}
	q.begin(s, o)
	for _, l := range made {
		l.Change.Foreign = l.Change.Foreign && s.ownLost != 0 && l.Change.Time.Sub(q.watches.Time(s.ownLost)) <= goneWithin
		l.outage = o
		o.addOwner(q.pods.Workload(l.Change.ID))
	}
	if len(made) > 0 {
		made[len(made)-1].began = o
	}
	for _, a := range s.Addresses(q.ReadFrom) {
		o.addOwner(q.pods.Workload(a.ID))
	}
}

func (q *classes) begin(s *Service, o *Outage) {
	s.Outage, o.service = o, s
	i, _ := slices.BinarySearchFunc(q.outages, o, func(a, b *Outage) int { return a.Since.Compare(b.Since) })
	q.outages = slices.Insert(q.outages, i, o)
}

func (o *Outage) addOwner(w event.WorkloadName, _ string) {
	if !slices.Contains(o.owners, w) {
		o.owners = append(o.owners, w)
	}
}

// EndOutage ends the current outage of a Service, and reports its end once the cause is known.
func (q *Losses) EndOutage(s *Service, t time.Time, live bool) {
	o := s.Outage
	s.OutageTime[o.Class] += q.ongoing(o)
	o.until = q.clock()
	s.Outage, s.Over[o.Class] = nil, q.watches.Moment(t)
	q.review(o)
	o.ended = &transition.OutageEnded{At: at(t), Service: s.Name, Lasted: t.Sub(o.Since), Cause: o.cause, Complete: live && o.live}
	if !o.undecided && !o.Found {
		q.Report(s, *o.ended)
	}
}

// ongoing returns the time of the current outage that the counters do not include yet.
func (q *classes) ongoing(o *Outage) time.Duration {
	if !o.final || o.Found {
		return 0
	}
	return q.clock().Sub(o.counted)
}

// Counted returns the counters of a Service at the current time.
func (q *Losses) Counted(s *Service) Counts {
	n := s.Counts
	if o := s.Outage; o != nil {
		n.OutageTime[o.Class] += q.ongoing(o)
	}
	return n
}

// StartCounting sets the counters of a Service to zero. An outage whose class is not final has not been counted yet.
func (q *Losses) StartCounting(s *Service) {
	s.Counts, s.ClassSince = Counts{}, [cause.NumClasses]event.Moment{}
	if s.Outage != nil && s.Outage.final {
		s.Outage.counted = q.clock()
	}
}

// ContinueOutage begins an outage that had begun before the first lists.
func (q *Losses) ContinueOutage(s *Service, since time.Time, class cause.Class, found bool, t time.Time) {
	o := &Outage{Since: since, Class: class, Found: found, final: t.Sub(since) >= finalAfter, counted: since}
	if q.begin(s, o); o.final {
		q.outages = slices.DeleteFunc(q.outages, func(x *Outage) bool { return x == o })
		o.counted = q.clock()
	}
	if !o.Found {
		q.Report(s, transition.OutageStarted{At: transition.At{Time: since, Waited: t.Sub(since)}, Service: s.Name})
	}
}

// FindOutage begins an outage of a Service that had no ready address in the first lists.
func (q *Losses) FindOutage(s *Service, t time.Time) {
	o := &Outage{Since: t, Class: cause.Found, Found: true}
	q.begin(s, o)
	q.review(o)
}
