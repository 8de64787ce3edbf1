// Package classes decides the classes of the losses and outages of Services, and counts them once their class is final.
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

// workloadFacts lists the methods of package workloads that this package calls.
type workloadFacts interface {
	// Wants returns the number of replicas that the workload should have.
	Wants(w event.WorkloadName) (replicas int32, known bool)
	// RolledOut reports whether the workload's template changed between the two times.
	RolledOut(w event.WorkloadName, since, until time.Time) bool
	// ScaledDown reports whether the workload gave up a pod because its replicas fell after `since`.
	ScaledDown(w event.WorkloadName, pod event.UID, since time.Time) bool
	// EmptyFor reports whether a workload has 0 replicas and pod labels that the selector matches.
	EmptyFor(namespace string, selector pods.Selector) bool
}

// Classes decides the classes of losses and outages. A class can change until it is final. The counters include a loss
// or an outage once its class is final, so they never have to be corrected.
type Classes struct {
	watches   *watches.Watches
	pods      *pods.Pods
	nodes     nodeFacts
	workloads workloadFacts
	// ReadFrom is the resource from which address states are read.
	ReadFrom event.Kind

	// `open` holds the settled losses that caused no outage and whose class is not final, sorted by time.
	open []*Loss
	// `outages` holds the outages whose class is not final, sorted by time.
	outages []*Outage
	// byOwner holds the losses whose class news about a workload can change.
	byOwner map[event.WorkloadName][]*Loss
	blind   blindness
}

// New returns an empty Classes.
func New(watches *watches.Watches, pods *pods.Pods, nodes nodeFacts, workloads workloadFacts) *Classes {
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
}

// Outage is a time during which a Service has no ready address. It has the same cause as the loss with which it began.
type Outage struct {
	Since time.Time
	Class cause.Class
	// Found is set if the Service had no ready address in the first lists. Such an outage is not counted.
	Found bool
	// Live is set if kubeflap saw the start without delay.
	Live bool
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
}

// Begin begins an outage with the losses that an event made. `others` are the other addresses of the Service.
func (q *Classes) Begin(s *Service, o *Outage, made []*Loss, others []event.UID) {
	o.made, o.counted = made, q.clock()
	q.begin(s, o)
	for _, l := range made {
		l.Outage = o
		others = append(others, l.Change.ID)
	}
	for _, id := range others {
		if w, _ := q.pods.Workload(id); !slices.Contains(o.owners, w) {
			o.owners = append(o.owners, w)
		}
	}
}

func (q *Classes) begin(s *Service, o *Outage) {
	s.Outage, o.service = o, s
	i, _ := slices.BinarySearchFunc(q.outages, o, func(a, b *Outage) int { return a.Since.Compare(b.Since) })
	q.outages = slices.Insert(q.outages, i, o)
}

// Continue begins an outage that had begun before the first lists.
func (q *Classes) Continue(s *Service, o *Outage) {
	o.counted = o.Since
	if q.begin(s, o); q.watches.Now().Sub(o.Since) >= finalAfter {
		o.final, o.counted = true, q.clock()
		q.outages = slices.DeleteFunc(q.outages, func(x *Outage) bool { return x == o })
	}
}

// Find begins an outage of a Service that had no ready address in the first lists.
func (q *Classes) Find(s *Service) {
	o := &Outage{Since: q.watches.Now(), Class: cause.Found, Found: true}
	q.begin(s, o)
	q.review(o)
}

// End ends the current outage of a Service.
func (q *Classes) End(s *Service) {
	o := s.Outage
	s.OutageTime[o.Class] += q.ongoing(o)
	o.until = q.clock()
	s.Outage, s.Over[o.Class] = nil, q.watches.Moment(q.watches.Now())
	q.review(o)
}

// ongoing returns the time of the current outage that the counters do not include yet.
func (q *Classes) ongoing(o *Outage) time.Duration {
	if !o.final || o.Found {
		return 0
	}
	return q.clock().Sub(o.counted)
}

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
	if o := s.Outage; o != nil && o.final && !o.Found {
		o.counted = q.clock()
		q.noteCounted(s, o.Class)
	}
}
