package classes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// rolloutBefore is the maximum time from the beginning of a rollout to a loss that the rollout explains.
const rolloutBefore = 10 * time.Minute

// Decide decides the class of a loss that has been settled, or of the outage that began with it.
func (q *Classes) Decide(l *Loss) {
	c := &l.Change
	l.planned = c.Announced != "" || c.Cause.OfNode() && q.nodes.AnnouncedFailure(c.Pod.Node, c.Cause, c.Time) != ""
	l.byOwner = c.Cause == cause.PodDeleted || c.Vanished
	l.owner, l.revision = q.pods.Workload(c.ID)
	l.recovered = l.Service.recoveredBy(q.watches, c.Time)
	is, final := q.classOf(l)
	switch {
	case l.Outage != nil:
		q.await(l)
		q.review(l.Outage)
	case final:
		q.countLoss(l.Service, is)
	default:
		q.await(l)
		i, _ := slices.BinarySearchFunc(q.open, l, func(a, b *Loss) int { return a.Change.Time.Compare(b.Change.Time) })
		q.open = slices.Insert(q.open, i, l)
	}
}

// await keeps a loss until its class is final, because news about the owner can change the class.
func (q *Classes) await(l *Loss) {
	if l.owner != (event.WorkloadName{}) {
		q.byOwner[l.owner] = append(q.byOwner[l.owner], l)
	}
}

func (q *Classes) forget(l *Loss) {
	if q.byOwner[l.owner] = slices.DeleteFunc(q.byOwner[l.owner], func(x *Loss) bool { return x == l }); len(q.byOwner[l.owner]) == 0 {
		delete(q.byOwner, l.owner)
	}
}

// classOf returns the class of a settled loss, without regard to the outage that began with it. `final` is set if nothing
// can change the class.
func (q *Classes) classOf(l *Loss) (is cause.Class, final bool) {
	switch {
	case l.planned:
		return cause.Planned, true
	case !l.byOwner || l.owner == event.WorkloadName{}:
		return cause.Unplanned, true
	case wantsNone(q.workloads, l.owner):
		return cause.ScaledToZero, true
	}
	t := l.Change.Time
	began := t.Add(-rolloutBefore)
	if q.workloads.ScaledDown(l.owner, l.Change.ID, began) {
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
	if updated, ok := q.workloads.Updated(l.owner, began); ok && same.Before(updated) && !l.Change.Vanished {
		return cause.Rollout, false
	}
	return cause.Unplanned, !same.Before(t)
}

func wantsNone(all *Workloads, w event.WorkloadName) bool {
	replicas, known := all.Wants(w)
	return known && replicas == 0
}

// classOfOutage returns the class of an outage at the current time.
func (q *Classes) classOfOutage(o *Outage) cause.Class {
	switch {
	case demand(q, o).IsNone():
		return cause.ScaledToZero
	case o.Class == cause.ScaledToZero, len(o.made) == 0:
		return o.Class
	}
	class := cause.NumClasses
	for _, l := range o.made {
		is := cause.Unplanned
		if l.Settled {
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
func (q *Classes) review(o *Outage) {
	if !o.final {
		q.set(o, q.classOfOutage(o))
	}
	if o.service.Outage != o {
		finish(q, o)
	} else if o.Class == cause.ScaledToZero {
		noteWanted(q, o)
	}
}

// set sets the class of an outage. If the outage was ongoing with another class, this other class is over now.
func (q *Classes) set(o *Outage, is cause.Class) {
	if now := q.watches.Now(); o.Class != is && o.service.Outage == o && now.After(o.Since) {
		o.service.Over[o.Class] = q.watches.Moment(now)
	}
	o.Class = is
}

// finish makes the class of an outage final and counts the outage, unless the cause of one of its losses is undecided.
func finish(q *Classes, o *Outage) {
	if o.final || slices.ContainsFunc(o.made, func(l *Loss) bool { return !l.Settled }) {
		return
	}
	makeFinal(q, o)
	s := o.service
	for _, l := range o.made {
		q.countLoss(s, o.Class)
		q.forget(l)
	}
	if o.made = nil; o.counts() {
		countOutage(q, o)
	}
}

func makeFinal(q *Classes, o *Outage) {
	o.final = true
	if q.outages = without(q.outages, o); o.service.Outage == o && o.Class == cause.ScaledToZero {
		q.empty = append(q.empty, o)
	}
}

func without(all []*Outage, o *Outage) []*Outage {
	return slices.DeleteFunc(all, func(x *Outage) bool { return x == o })
}

// countOutage counts an outage whose class has become final, with its time so far.
func countOutage(q *Classes, o *Outage) {
	s, until := o.service, countedUntil(q, o)
	q.noteCounted(s, o.Class)
	s.Outages[o.Class]++
	s.OutageTime[o.Class] += until.Sub(o.counted)
	o.counted = until
}

// PodAppeared handles a new pod of a workload.
func (q *Classes) PodAppeared(w event.WorkloadName) { q.reviewLosses(q.byOwner[w]) }

// WorkloadChanged handles a change of a workload.
func (q *Classes) WorkloadChanged(w event.WorkloadName) {
	q.reviewLosses(q.byOwner[w])
	if _, known := q.workloads.Wants(w); known {
		q.reviewOutages(func(o *Outage) bool { return o.service.Name.Namespace == w.Namespace })
	}
}

func (q *Classes) reviewOutages(some func(*Outage) bool) {
	for _, o := range slices.Concat(q.outages, q.empty) {
		if some(o) {
			q.review(o)
		}
	}
}

// WorkloadsKnown handles the first list of workloads or pods, and the end of a break of their watch.
func (q *Classes) WorkloadsKnown() {
	q.reviewLosses(q.open)
	q.reviewOutages(func(*Outage) bool { return true })
}

func (q *Classes) reviewLosses(some []*Loss) {
	var reviewed *Outage // several losses can have begun the same outage
	for _, l := range slices.Clone(some) {
		if l.Outage != nil && l.Outage != reviewed {
			q.review(l.Outage)
			reviewed = l.Outage
		} else if is, final := q.classOf(l); l.Outage == nil && final {
			q.count(l, is)
		}
	}
}

// count counts a loss whose class has become final.
func (q *Classes) count(l *Loss, is cause.Class) {
	q.countLoss(l.Service, is)
	q.open = slices.DeleteFunc(q.open, func(x *Loss) bool { return x == l })
	q.forget(l)
}

func (q *Classes) countLoss(s *Service, is cause.Class) {
	q.noteCounted(s, is)
	s.Lost[is]++
}

func (q *Classes) noteCounted(s *Service, is cause.Class) {
	if s.ClassSince[is] == 0 {
		s.ClassSince[is] = q.watches.Moment(q.watches.Now())
	}
}

// Due returns the earliest time at which a class becomes final, and a function to call at that time. This function is nil
// if there is no such time until `by`. While the watches are broken, kubeflap does not know whether an outage is ongoing.
func (q *Classes) Due(by time.Time) (due time.Time, decide func()) {
	if len(q.open) > 0 {
		if at := q.open[0].Change.Time.Add(cause.FinalAfter); !at.After(by) {
			due, decide = at, func() {
				is, _ := q.classOf(q.open[0])
				q.count(q.open[0], is)
			}
		}
	}
	if !q.watches.Up(event.KindService) || !q.watches.Up(q.ReadFrom) {
		return due, decide
	}
	if len(q.outages) > 0 {
		if at := q.outages[0].Since.Add(cause.FinalAfter); !at.After(by) && (decide == nil || at.Before(due)) {
			due, decide = at, func() { q.expire(watches.Take(&q.outages)) }
		}
	}
	if len(q.scaledUp) > 0 {
		if at := q.scaledUp[0].wanted.Add(cause.FinalAfter); !at.After(by) && (decide == nil || at.Before(due)) {
			due, decide = at, func() { failToScaleUp(q, q.scaledUp[0]) }
		}
	}
	return due, decide
}

// expire makes the class of an outage final that has lasted for cause.FinalAfter.
func (q *Classes) expire(o *Outage) {
	q.review(o)
	if o.Class == cause.Planned || o.Class == cause.Rollout {
		q.set(o, cause.Unplanned)
	}
	finish(q, o)
}

// FinishAll makes all classes final.
func (q *Classes) FinishAll() {
	for len(q.open) > 0 {
		is, _ := q.classOf(q.open[0])
		q.count(q.open[0], is)
	}
	for len(q.outages) > 0 {
		finish(q, q.outages[0])
	}
}
