// Package classes decides the classes of the losses and outages of Services, and counts them once their class is final. It
// tracks the Deployments and StatefulSets for that.
package classes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// nodeFacts lists the methods of package nodes that this package calls.
type nodeFacts interface {
	// AnnouncedFailure describes the announcement of the node's departure before it failed and made a pod not ready at t.
	// It returns an empty string if there was none.
	AnnouncedFailure(node string, why cause.Cause, t time.Time) string
}

// Classes decides the classes of losses and outages. A class can change until it is final. The counters include a loss
// or an outage once its class is final, so they never have to be corrected.
type Classes struct {
	watches   *watches.Watches
	pods      *pods.Pods
	nodes     nodeFacts
	workloads *Workloads
	// ReadFrom is the resource from which address states are read.
	ReadFrom event.Kind

	// `open` holds the settled losses that caused no outage and whose class is not final, sorted by time.
	open []*Loss
	// `outages` holds the outages whose class is not final, sorted by time. `empty` holds the ongoing outages whose class is
	// final, because no pods are wanted. `scaledUp` holds the outages for which pods are wanted again, sorted by the time
	// of that.
	outages, empty, scaledUp []*Outage
	// byOwner holds the losses whose class news about a workload can change.
	byOwner map[event.WorkloadName][]*Loss
	blind   blindness
}

// New returns an empty Classes.
func New(watches *watches.Watches, pods *pods.Pods, nodes nodeFacts, workloads *Workloads) *Classes {
	return &Classes{watches: watches, pods: pods, nodes: nodes, workloads: workloads, byOwner: map[event.WorkloadName][]*Loss{}}
}

// Service is the part of a Service that this package reads and counts.
type Service struct {
	Name     transition.Service
	Selector pods.Selector
	Counts
	// ClassSince contains the time at which the first loss or outage of each class was counted.
	ClassSince [cause.NumClasses]event.Moment
	// Outage is the current outage, or nil.
	Outage *Outage
	// Over contains the time at which the last outage of each class ended or changed its class.
	Over [cause.NumClasses]event.Moment
}

// recoveredBy returns the time at which the last outage had ended by t, or zero.
func (s *Service) recoveredBy(w *watches.Watches, t time.Time) (last time.Time) {
	for _, over := range s.Over {
		if at := w.Time(over); over != 0 && !at.After(t) && at.After(last) {
			last = at
		}
	}
	return last
}

// Counts holds the counters of a Service's losses and outages by class.
type Counts struct {
	// Lost counts how often an address stopped being ready.
	Lost [cause.NumClasses]uint32
	// OutageTime is the total time without a ready address.
	Outages    [cause.NumClasses]uint32
	OutageTime [cause.NumClasses]time.Duration
}

// Loss records that an address stopped being ready.
type Loss struct {
	Service *Service
	Change  transition.AddressLost
	// Settled is set if the cause has been determined.
	Settled bool
	// Outage is the outage that began with the event that made the loss, or nil.
	Outage *Outage
	departure
}

// departure is what the class of a loss depends on.
type departure struct {
	// planned is set if the departure of the pod or of its node was announced. byOwner is set if the pod's owner may have
	// deleted the pod.
	planned, byOwner bool
	owner            event.WorkloadName
	revision         string
	// recovered is the time of the Service's last recovery before the loss. An update before it explains nothing.
	recovered time.Time
}

// Outage is a time during which a Service has no ready address. It has the same cause as the loss with which it began.
type Outage struct {
	Since time.Time
	Class cause.Class
	// Down is the time since which the Service has had no ready address. Since is later if pods were not wanted until then.
	Down time.Time
	// Found is set if the Service had no ready address in the first lists. Such an outage is not counted, unless pods are
	// wanted since then.
	Found bool
	// Addresses returns the Service's current addresses.
	Addresses func() []event.UID
	// Earliest is the earliest time at which the Service can have lost its last ready address. It is before Down if a watch
	// was broken.
	Earliest time.Time
	// Undecided is set until the loss with which the outage began has been reported. Then the cause is known.
	Undecided bool
	Cause     cause.Cause
	// Ended is the end of the outage if it came while the cause was undecided.
	Ended *transition.OutageEnded

	service *Service
	// final is set once the class cannot change and the outage has been counted.
	final bool
	// made holds the losses with which the outage began, until the class is final. owners holds the owners of the
	// Service's last pods. A pod of an unknown owner has the zero name.
	made   []*Loss
	owners []event.WorkloadName
	// counted is the time up to which the outage has been counted, and until is its end, both by Classes.clock.
	counted, until time.Time
	// wanted is the time since which pods are wanted again, or zero. wantedClock is the same time by Classes.clock.
	wanted, wantedClock time.Time
}

// Begin begins an outage with the losses that an event made.
func (q *Classes) Begin(s *Service, o *Outage, made []*Loss) {
	o.made, o.counted = made, q.clock()
	q.begin(s, o)
	ids := o.Addresses()
	for _, l := range made {
		l.Outage = o
		ids = append(ids, l.Change.ID)
	}
	o.owners = ownersOf(q.pods, ids)
}

func ownersOf(all *pods.Pods, ids []event.UID) (owners []event.WorkloadName) {
	for _, id := range ids {
		if w, _ := all.Workload(id); !slices.Contains(owners, w) {
			owners = append(owners, w)
		}
	}
	return owners
}

func (q *Classes) begin(s *Service, o *Outage) {
	s.Outage, o.service, o.Down = o, s, o.Since
	i, _ := slices.BinarySearchFunc(q.outages, o, func(a, b *Outage) int { return a.Since.Compare(b.Since) })
	q.outages = slices.Insert(q.outages, i, o)
}

// Continue begins an outage that had begun before the first lists.
func (q *Classes) Continue(s *Service, o *Outage) {
	o.counted = o.Since
	if q.begin(s, o); q.watches.Now().Sub(o.Since) >= cause.FinalAfter {
		o.counted = q.clock()
		makeFinal(q, o)
	}
}

// Find begins an outage of a Service that had no ready address in the first lists.
func (q *Classes) Find(s *Service, o *Outage) {
	o.Since, o.Class, o.Found = q.watches.Now(), cause.Found, true
	q.begin(s, o)
	q.review(o)
}

// End ends the current outage of a Service.
func (q *Classes) End(s *Service) {
	o := s.Outage
	wantedNoMore(q, o)
	q.empty = without(q.empty, o)
	s.OutageTime[o.Class] += q.ongoing(o)
	o.until = q.clock()
	s.Outage, s.Over[o.Class] = nil, q.watches.Moment(q.watches.Now())
	q.review(o)
}

// ongoing returns the time of the current outage that the counters do not include yet.
func (q *Classes) ongoing(o *Outage) time.Duration {
	if !o.final || !o.counts() {
		return 0
	}
	return countedUntil(q, o).Sub(o.counted)
}

// countedUntil returns the end of the time to count. The class of the time since pods are wanted again is not final.
func countedUntil(q *Classes, o *Outage) time.Time {
	switch {
	case o.service.Outage != o:
		return o.until
	case !o.wanted.IsZero():
		return o.wantedClock
	}
	return q.clock()
}

// counts reports whether an outage is counted.
func (o *Outage) counts() bool { return !o.Found || o.Class == cause.Unplanned }

// Counted returns the counters of a Service at the current time.
func (q *Classes) Counted(s *Service) Counts {
	n := s.Counts
	if o := s.Outage; o != nil {
		n.OutageTime[o.Class] += q.ongoing(o)
	}
	return n
}

// StartCounting sets the counters of a Service to zero. An outage whose class is not final has not been counted yet.
func (q *Classes) StartCounting(s *Service) {
	s.Counts, s.ClassSince = Counts{}, [cause.NumClasses]event.Moment{}
	if o := s.Outage; o != nil && o.final {
		o.counted = q.clock()
		if o.wantedClock = o.counted; o.counts() {
			q.noteCounted(s, o.Class)
		}
	}
}
