package services

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// rolloutBefore is the maximum time from the beginning of a rollout to a loss that the rollout explains.
const rolloutBefore = 10 * time.Minute

// classes decides the classes of losses and outages. A class can change until it is final. The counters include a loss
// or an outage once its class is final, so they never have to be corrected.
type classes struct {
	workloads
	// awaiting holds the settled losses whose class news about a workload can change.
	awaiting map[event.WorkloadName][]*loss
	// `outages` holds the outages whose class is not final, and the ongoing ones in which no pods are wanted.
	outages []*outage
	// hidden holds what was due while it was unknown which outages are ongoing.
	hidden []func()
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

// decide decides the class of a loss that has been settled, or of the outage that began with it.
func (q *classes) decide(l *loss) {
	c := &l.change
	l.planned = c.Announced != "" || c.Cause.OfNode() && q.nodes.AnnouncedFailure(c.Pod.Node, c.Cause, c.Time) != ""
	l.byOwner = c.Cause == cause.PodDeleted || c.Vanished
	l.owner, l.revision = q.pods.Workload(c.ID)
	l.recovered = l.service.recoveredBy(q.watches, c.Time)
	if is, final := q.classOf(l); l.outage == nil && final {
		q.countLoss(l.service, is)
		return
	}
	if l.owner != (event.WorkloadName{}) {
		q.awaiting[l.owner] = append(q.awaiting[l.owner], l)
	}
	if l.outage != nil {
		q.review(l.outage)
	} else {
		q.watches.Schedule(c.Time.Add(cause.FinalAfter), watches.RankServices, func() { q.expireLoss(l) })
	}
}

// forget drops a loss whose class has become final. It returns false if it was final before.
func (q *classes) forget(l *loss) bool {
	some := q.awaiting[l.owner]
	i := slices.Index(some, l)
	if i < 0 {
		return false
	}
	if q.awaiting[l.owner] = slices.Delete(some, i, i+1); len(some) == 1 {
		delete(q.awaiting, l.owner)
	}
	return true
}

// classOf returns the class of a settled loss, without regard to the outage that began with it. `final` is set if nothing
// can change the class.
func (q *classes) classOf(l *loss) (is cause.Class, final bool) {
	switch {
	case l.planned:
		return cause.Planned, true
	case !l.byOwner || l.owner == event.WorkloadName{}:
		return cause.Unplanned, true
	case q.wantsNone(l.owner):
		return cause.ScaledToZero, true
	}
	t := l.change.Time
	began := t.Add(-rolloutBefore)
	if q.scaledDown(l.owner, l.change.ID, began) {
		return cause.Planned, true
	}
	same, newer := q.pods.Appeared(l.owner, l.revision)
	if !newer.Before(began) {
		return cause.Rollout, true
	}
	if l.recovered.After(began) {
		began = l.recovered
	}
	// A new pod of the same revision shows that the update did not change the pods, or has changed them before.
	if at := q.UpdatedAt(l.owner); !at.Before(began) && same.Before(at) && !l.change.Vanished {
		return cause.Rollout, false
	}
	return cause.Unplanned, !same.Before(t)
}

// classOfOutage returns the class of an outage at the current time.
func (q *classes) classOfOutage(o *outage) cause.Class {
	switch {
	case q.demandIn(o).isNone():
		return cause.ScaledToZero
	case o.class == cause.ScaledToZero, len(o.made) == 0:
		return o.class
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
func (q *classes) review(o *outage) {
	if !o.final {
		q.set(o, q.classOfOutage(o))
	}
	if !o.isOngoing() {
		q.finish(o)
	} else if o.class == cause.ScaledToZero {
		q.noteWanted(o)
	}
}

// set sets the class of an outage. If the outage was ongoing with another class, this other class is over now.
func (q *classes) set(o *outage, is cause.Class) {
	if now := q.watches.Now(); o.class != is && o.isOngoing() && now.After(o.since) {
		o.service.over[o.class] = q.watches.Moment(now)
	}
	o.class = is
}

// finish makes the class of an outage final and counts the outage, unless the cause of one of its losses is undecided.
func (q *classes) finish(o *outage) {
	if o.final || slices.ContainsFunc(o.made, func(l *loss) bool { return !l.settled }) {
		return
	}
	q.makeFinal(o)
	for _, l := range o.made {
		q.countLoss(o.service, o.class)
		q.forget(l)
	}
	if o.made = nil; o.counts() {
		q.countOutage(o)
	}
}

func (q *classes) makeFinal(o *outage) {
	if o.final = true; !o.isOngoing() || o.class != cause.ScaledToZero {
		q.drop(o)
	}
}

// drop drops an outage whose class cannot change.
func (q *classes) drop(o *outage) {
	q.outages = slices.DeleteFunc(q.outages, func(x *outage) bool { return x == o })
}

// ApplyWorkload handles an event of a Deployment or a StatefulSet.
func (q *classes) ApplyWorkload(e event.Event, o *event.Workload) {
	q.apply(e, o)
	w := o.Named()
	q.reviewLosses(q.awaiting[w])
	if _, known := q.Wants(w); known {
		q.reviewOutages(w.Namespace)
	}
}

// reviewOutages reviews the outages in a namespace, or all if it is empty.
func (q *classes) reviewOutages(namespace string) {
	for _, o := range slices.Clone(q.outages) {
		if namespace == "" || o.service.name.Namespace == namespace {
			q.review(o)
		}
	}
}

// WorkloadsKnown handles the first list of workloads or pods, and the end of a break of their watch.
func (q *classes) WorkloadsKnown() {
	q.reviewLosses(q.allAwaiting())
	q.reviewOutages("")
}

// allAwaiting returns the losses that wait for news about workloads, sorted by time.
func (q *classes) allAwaiting() (all []*loss) {
	for _, some := range q.awaiting {
		all = append(all, some...)
	}
	slices.SortFunc(all, compareLosses)
	return all
}

func compareLosses(a, b *loss) int {
	return cmp.Or(a.change.Time.Compare(b.change.Time), compareServices(a.service, b.service), order(a.change.ID, b.change.ID))
}

func (q *classes) reviewLosses(some []*loss) {
	var reviewed *outage // several losses can have begun the same outage
	for _, l := range slices.Clone(some) {
		if l.outage != nil && l.outage != reviewed {
			q.review(l.outage)
			reviewed = l.outage
		} else if is, final := q.classOf(l); l.outage == nil && final && q.forget(l) {
			q.countLoss(l.service, is)
		}
	}
}

// expireLoss makes the class of a loss final that caused no outage.
func (q *classes) expireLoss(l *loss) {
	if q.forget(l) {
		is, _ := q.classOf(l)
		q.countLoss(l.service, is)
	}
}

func (q *facts) countLoss(s *service, is cause.Class) {
	q.noteCounted(s, is)
	s.Lost[is]++
}

func (q *facts) noteCounted(s *service, is cause.Class) {
	if s.classSince[is] == 0 {
		s.classSince[is] = q.watches.Moment(q.watches.Now())
	}
}

// finishAll makes all classes final.
func (q *classes) finishAll() {
	for _, l := range q.allAwaiting() {
		if l.outage == nil {
			q.expireLoss(l)
		}
	}
	for _, o := range slices.Clone(q.outages) {
		q.finish(o)
	}
}
