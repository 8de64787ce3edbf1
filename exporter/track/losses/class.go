package losses

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

const (
	// finalAfter is the time after which the class of a loss or an outage is final. A plan or a rollout that leaves the
	// Service without a ready address for this time has failed.
	finalAfter = 5 * time.Minute
	// rolloutBefore is the maximum time from the beginning of a rollout to a loss that the rollout explains.
	rolloutBefore = 10 * time.Minute
)

// workloadFacts lists the methods of package workloads that this package calls.
type workloadFacts interface {
	// Wants returns the number of replicas that the workload should have.
	Wants(w event.WorkloadName) (replicas int32, known bool)
	// RolledOut reports whether the workload's template changed between the two times.
	RolledOut(w event.WorkloadName, since, until time.Time) bool
	// EmptyFor reports whether a workload has 0 replicas and pod labels that the selector matches.
	EmptyFor(namespace string, selector pods.Selector) bool
}

// classes decides the classes of losses and outages. A class can change until it is final. The counters include a loss
// or an outage once its class is final, so they never have to be corrected.
type classes struct {
	*explainer
	nodes     nodeFacts
	workloads workloadFacts
	// `open` holds the settled losses that caused no outage and whose class is not final, sorted by time.
	open []*Loss
	// `outages` holds the outages whose class is not final, sorted by time.
	outages []*Outage
	// byOwner holds the losses whose class news about a workload can change.
	byOwner map[event.WorkloadName][]*Loss
	blind   blindness
}

// departure is what the class of a loss depends on.
type departure struct {
	// planned is set if the departure of the pod or of its node was announced. byOwner is set if the pod's owner may have
	// deleted the pod.
	planned, byOwner bool
	owner            event.WorkloadName
	revision         string
}

// decide decides the class of a loss that has been settled, or of the outage that began with it.
func (q *classes) decide(l *Loss) {
	c := &l.Change
	l.planned = c.Announced != "" || c.Cause.OfNode() && q.nodes.AnnouncedFailure(c.Pod.Node, c.Cause, c.Time) != ""
	l.byOwner = c.Cause == cause.PodDeleted || c.Vanished
	l.owner, l.revision = q.pods.Workload(c.ID)
	is, final := q.classOf(l)
	switch {
	case l.outage != nil:
		q.await(l)
		q.review(l.outage)
	case final:
		q.countLoss(l.Service, is)
	default:
		q.await(l)
		i, _ := slices.BinarySearchFunc(q.open, l, func(a, b *Loss) int { return a.Change.Time.Compare(b.Change.Time) })
		q.open = slices.Insert(q.open, i, l)
	}
}

// await keeps a loss until its class is final, because news about the owner can change the class.
func (q *classes) await(l *Loss) {
	if l.owner != (event.WorkloadName{}) {
		q.byOwner[l.owner] = append(q.byOwner[l.owner], l)
	}
}

func (q *classes) forget(l *Loss) {
	if q.byOwner[l.owner] = slices.DeleteFunc(q.byOwner[l.owner], func(x *Loss) bool { return x == l }); len(q.byOwner[l.owner]) == 0 {
		delete(q.byOwner, l.owner)
	}
}

// classOf returns the class of a settled loss, without regard to the outage that began with it. `final` is set if nothing
// can change the class.
func (q *classes) classOf(l *Loss) (is cause.Class, final bool) {
	switch {
	case l.planned:
		return cause.Planned, true
	case !l.byOwner || l.owner == event.WorkloadName{}:
		return cause.Unplanned, true
	case q.wantsNone(l.owner):
		return cause.ScaledToZero, true
	}
	t := l.Change.Time
	began := t.Add(-rolloutBefore)
	_, other := q.pods.Appeared(l.owner, l.revision, began)
	same, _ := q.pods.Appeared(l.owner, l.revision, t)
	if other || q.workloads.RolledOut(l.owner, began, q.watches.Now()) {
		return cause.Rollout, true
	}
	return cause.Unplanned, same
}

func (q *classes) wantsNone(w event.WorkloadName) bool {
	replicas, known := q.workloads.Wants(w)
	return known && replicas == 0
}

// classOfOutage returns the class of an outage at the current time.
func (q *classes) classOfOutage(o *Outage) cause.Class {
	switch {
	case o.Found && q.workloads.EmptyFor(o.service.Name.Namespace, o.service.Selector):
		return cause.ScaledToZero
	case o.Found, len(o.made) == 0:
		return o.Class
	case !slices.ContainsFunc(o.owners, func(w event.WorkloadName) bool { return !q.wantsNone(w) }):
		return cause.ScaledToZero
	}
	class := cause.NumClasses
	for _, l := range o.made {
		is := cause.Unplanned
		if l.settled {
			is, _ = q.classOf(l)
		}
		class = min(class, is)
	}
	if class == cause.ScaledToZero {
		return cause.Unplanned // another workload of the Service still wants pods
	}
	return class
}

// review changes the class of an outage if there is news about it.
func (q *classes) review(o *Outage) {
	if !o.final {
		q.set(o, q.classOfOutage(o))
	}
	if o.service.Outage != o {
		q.finish(o)
	}
}

// set sets the class of an outage. If the outage was ongoing with another class, this other class is over now.
func (q *classes) set(o *Outage, is cause.Class) {
	if now := q.watches.Now(); o.Class != is && o.service.Outage == o && now.After(o.Since) {
		o.service.Over[o.Class] = q.watches.Moment(now)
	}
	o.Class = is
}

// finish makes the class of an outage final and counts the outage, unless the cause of one of its losses is undecided.
func (q *classes) finish(o *Outage) {
	if o.final || slices.ContainsFunc(o.made, func(l *Loss) bool { return !l.settled }) {
		return
	}
	o.final = true
	q.outages = slices.DeleteFunc(q.outages, func(x *Outage) bool { return x == o })
	s := o.service
	for _, l := range o.made {
		q.countLoss(s, o.Class)
		q.forget(l)
	}
	if o.made = nil; o.Found {
		return
	}
	q.noteCounted(s, o.Class)
	s.Outages[o.Class]++
	until := o.until
	if s.Outage == o {
		until = q.clock()
	}
	s.OutageTime[o.Class] += until.Sub(o.counted)
	o.counted = until
}

// PodAppeared handles a new pod of a workload.
func (q *classes) PodAppeared(w event.WorkloadName) { q.reviewLosses(q.byOwner[w]) }

// WorkloadChanged handles a change of a workload.
func (q *classes) WorkloadChanged(w event.WorkloadName) {
	q.reviewLosses(q.byOwner[w])
	for _, o := range slices.Clone(q.outages) {
		if slices.Contains(o.owners, w) {
			q.review(o)
		}
	}
}

// WorkloadsKnown handles the first list of workloads, and the end of a break of their watch.
func (q *classes) WorkloadsKnown() {
	q.reviewLosses(q.open)
	for _, o := range slices.Clone(q.outages) {
		q.review(o)
	}
}

func (q *classes) reviewLosses(some []*Loss) {
	var reviewed *Outage // several losses can have begun the same outage
	for _, l := range slices.Clone(some) {
		if l.outage != nil && l.outage != reviewed {
			q.review(l.outage)
			reviewed = l.outage
		} else if is, final := q.classOf(l); l.outage == nil && final {
			q.count(l, is)
		}
	}
}

// count counts a loss whose class has become final.
func (q *classes) count(l *Loss, is cause.Class) {
	q.countLoss(l.Service, is)
	q.open = slices.DeleteFunc(q.open, func(x *Loss) bool { return x == l })
	q.forget(l)
}

func (q *classes) countLoss(s *Service, is cause.Class) {
	q.noteCounted(s, is)
	s.Lost[is]++
}

func (q *classes) noteCounted(s *Service, is cause.Class) {
	if s.ClassSince[is] == 0 {
		s.ClassSince[is] = q.watches.Moment(q.watches.Now())
	}
}

// due returns the earliest time at which a class becomes final, and a function to call at that time. This function is nil
// if there is no such time until `by`. While the watches are broken, kubeflap does not know whether an outage is ongoing.
func (q *classes) due(by time.Time) (due time.Time, decide func()) {
	if len(q.open) > 0 {
		if at := q.open[0].Change.Time.Add(finalAfter); !at.After(by) {
			due, decide = at, func() {
				is, _ := q.classOf(q.open[0])
				q.count(q.open[0], is)
			}
		}
	}
	if len(q.outages) > 0 && q.watches.Up(event.KindService) && q.watches.Up(q.ReadFrom) {
		if at := q.outages[0].Since.Add(finalAfter); !at.After(by) && (decide == nil || at.Before(due)) {
			due, decide = at, func() { q.expire(watches.Take(&q.outages)) }
		}
	}
	return due, decide
}

// expire makes the class of an outage final that has lasted for finalAfter.
func (q *classes) expire(o *Outage) {
	q.review(o)
	if o.Class == cause.Planned || o.Class == cause.Rollout {
		q.set(o, cause.Unplanned)
	}
	q.finish(o)
}

// finishAll makes all classes final.
func (q *classes) finishAll() {
	for len(q.open) > 0 {
		is, _ := q.classOf(q.open[0])
		q.count(q.open[0], is)
	}
	for len(q.outages) > 0 {
		q.finish(q.outages[0])
	}
}
