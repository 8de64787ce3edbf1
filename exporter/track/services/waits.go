package services

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/classes"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// waitsAfter is the length of an outage after which kubeflap asks what keeps it going. askEvery is the time between two
	// questions in the first askOftenFor, and askSeldom after that. The times depend only on the outage, so the answers do not
	// depend on queries.
	waitsAfter  = time.Minute
	askEvery    = 15 * time.Second
	askOftenFor = 10 * time.Minute
	askSeldom   = time.Minute
)

// waits follows what the Services without a ready address wait for.
type waits struct {
	*facts
	// DemandFor is classes.Workloads.DemandFor.
	DemandFor func(namespace string, selector pods.Selector) classes.Demand
	// asks holds the ongoing outages, and some that have ended, sorted by the time of the next question.
	asks []*ask
}

// ask is what kubeflap knows of what keeps an outage going.
type ask struct {
	service *service
	outage  *classes.Outage
	due     time.Time
	// lost holds the pods of the addresses with whose loss the outage began.
	lost []event.UID
	last transition.Wait
}

// follow begins to follow the current outage of a Service.
func (x *waits) follow(s *service, lost []*losses.Loss, last transition.Wait) {
	if s.Outage == nil || s.Outage.Found {
		return
	}
	a := &ask{service: s, outage: s.Outage, due: s.Outage.Since.Add(waitsAfter), last: last}
	for _, l := range lost {
		a.lost = append(a.lost, l.Change.ID)
	}
	for now := x.watches.Now(); a.due.Before(now); { // the outage began before kubeflap
		a.due = a.next()
	}
	if x.schedule(a); last.Kind != "" {
		x.report(a, x.watches.Now())
	}
}

func (x *waits) schedule(a *ask) {
	i, _ := slices.BinarySearchFunc(x.asks, a, func(a, b *ask) int {
		return cmp.Or(a.due.Compare(b.due), compareServices(a.service, b.service))
	})
	x.asks = slices.Insert(x.asks, i, a)
}

func (a *ask) next() time.Time {
	if a.due.Sub(a.outage.Since) < askOftenFor {
		return a.due.Add(askEvery)
	}
	return a.due.Add(askSeldom)
}

// DueWait returns the time of the next question about an outage, and a function that asks it. The function is nil if the
// time is later than `by`.
func (x *waits) DueWait(by time.Time) (due time.Time, ask func()) {
	if len(x.asks) == 0 || x.asks[0].due.After(by) {
		return time.Time{}, nil
	}
	return x.asks[0].due, func() {
		a := watches.Take(&x.asks)
		if s := a.service; !s.Current || s.Outage != a.outage {
			return
		}
		x.answer(a)
		a.due = a.next()
		x.schedule(a)
	}
}

// answer reports what a Service waits for if it has changed.
func (x *waits) answer(a *ask) {
	is := x.waitOf(a)
	if is.Same(a.last) {
		return
	}
	if is.Since.Before(a.outage.Since) {
		is.Since = a.outage.Since
	}
	switch last := a.last; {
	case last.Kind == is.Kind && last.UID == is.UID:
		is.Since = last.Since // only the reason has changed
	case last.Kind != "" && !is.Since.After(last.Since):
		is.Since = a.due
	}
	a.last = is
	x.report(a, a.due)
}

func (x *waits) report(a *ask, t time.Time) {
	x.losses.Report(&a.service.Service, transition.OutageWaits{At: at(t), Service: a.service.Name, Wait: a.last})
}

// waitOf returns what a Service waits for. It returns the last answer if it does not know.
func (x *waits) waitOf(a *ask) transition.Wait {
	s := a.service
	switch {
	case len(s.Selector) == 0:
		return transition.Wait{}
	case x.losses.IsBlind():
		return a.last
	case x.DemandFor(s.Name.Namespace, s.Selector).IsNone():
		return transition.Wait{Kind: transition.WaitReplicas}
	}
	var ids []event.UID
	for _, address := range s.Addresses(x.losses.ReadFrom) {
		if address.State == losses.NotReady {
			ids = append(ids, address.ID)
		}
	}
	a.lost = slices.DeleteFunc(a.lost, s.HasLeft)
	return x.pods.WaitOf(s.Name.Namespace, s.Selector, ids, a.lost, a.last)
}
