package services

import (
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
	// undecided holds the outages and the single losses whose class can change, by namespace, and the ongoing outages in which
	// no pods are wanted.
	undecided map[string][]*outage
	over      over
}

// decide decides the class of a loss that has been settled, or of the outage that began with it.
func (q *classes) decide(l *loss) {
	c := &l.change
	l.planned = c.Announced != "" || c.Cause.OfNode() && q.nodes.AnnouncedFailure(c.Pod.Node, c.Cause, c.Time) != ""
	l.owner, l.revision = q.pods.Workload(c.ID)
	if l.outage != nil {
		q.review(l.outage)
		return
	}
	l.outage = &outage{service: l.service, since: c.Time, single: true, made: []*loss{l}}
	if q.review(l.outage); !l.outage.final {
		q.keep(l.outage)
	}
}

// keep stores an outage or a single loss until its class is final.
func (q *classes) keep(o *outage) {
	in := o.service.name.Namespace
	q.undecided[in] = append(q.undecided[in], o)
	q.watches.Schedule(o.since.Add(cause.FinalAfter), watches.RankServices, func() { q.expire(o) })
}

// drop drops an outage or a single loss whose class cannot change.
func (q *classes) drop(o *outage) {
	in := o.service.name.Namespace
	q.undecided[in] = slices.DeleteFunc(q.undecided[in], func(x *outage) bool { return x == o })
	if len(q.undecided[in]) == 0 {
		delete(q.undecided, in)
	}
}

// classOf returns the class of a settled loss, without regard to the outage that began with it. `final` is set if nothing
// can change the class.
func (q *classes) classOf(l *loss) (is cause.Class, final bool) {
	switch replicas, known := q.wants(l.owner); {
	case l.planned:
		return cause.Planned, true
	case l.change.Cause != cause.PodDeleted && !l.change.Vanished, l.owner == event.WorkloadName{}:
		return cause.Unplanned, true // not by an owner of the pod that is known
	case known && replicas == 0:
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
	if w := q.find(l.owner); w != nil && !l.change.Vanished {
		if at := q.watches.Time(w.updated); !at.Before(began) && same.Before(at) {
			return cause.Rollout, false
		}
	}
	return cause.Unplanned, !same.Before(t)
}

// classOfOutage returns the class of an outage at the current time.
func (q *classes) classOfOutage(o *outage) cause.Class {
	switch _, none := q.demandIn(o); {
	case none:
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

// review changes the class of an outage or a single loss if there is news about it.
func (q *classes) review(o *outage) {
	certain := !o.isOngoing()
	switch {
	case o.final:
	case o.single:
		o.class, certain = q.classOf(o.made[0])
	default:
		q.set(o, q.classOfOutage(o))
	}
	if certain {
		q.finish(o)
	} else if o.class == cause.ScaledToZero {
		q.noteWanted(o)
	}
}

// set sets the class of an outage. If the outage was ongoing with another class, this other class is over now.
func (q *classes) set(o *outage, is cause.Class) {
	if o.class != is && o.isOngoing() && q.watches.Now().After(o.since) {
		q.noteOver(o)
	}
	o.class = is
}

// finish makes the class of an outage or a single loss final and counts it, unless the cause of a loss is undecided.
func (q *classes) finish(o *outage) {
	if o.final || slices.ContainsFunc(o.made, func(l *loss) bool { return !l.settled }) {
		return
	}
	q.makeFinal(o)
	for range o.made {
		q.noteCounted(o.service, o.class)
		o.service.Lost[o.class]++
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

// ApplyWorkload handles an event of a Deployment or a StatefulSet.
func (q *classes) ApplyWorkload(e event.Event, o *event.Workload) {
	q.apply(e, o)
	w := o.Named()
	_, known := q.wants(w)
	q.reviewIn(w.Namespace, func(o *outage) bool { return known && !o.single || o.isOf(w) })
}

// reviewIn reviews some of the outages and single losses in a namespace.
func (q *classes) reviewIn(namespace string, some func(*outage) bool) {
	for _, o := range slices.Clone(q.undecided[namespace]) {
		if some(o) {
			q.review(o)
		}
	}
}

// WorkloadsKnown handles the first list of workloads or pods, and the end of a break of their watch.
func (q *classes) WorkloadsKnown() { q.each(q.review) }

// each does something with all outages and single losses whose class can change.
func (q *classes) each(do func(*outage)) {
	for _, some := range q.undecided {
		for _, o := range slices.Clone(some) {
			do(o)
		}
	}
}

func (q *facts) noteCounted(s *service, is cause.Class) {
	if s.classSince[is] == 0 {
		s.classSince[is] = q.watches.Moment(q.watches.Now())
	}
}
