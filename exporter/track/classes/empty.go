package classes

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
)

// demand returns what is known about how many pods a Service without ready addresses should have: by the workloads that its
// selector matches, and by the owners of its last and current pods. Pods of an unknown owner make it unknown.
func demand(q *Classes, o *Outage) Demand {
	s := o.service
	d := q.workloads.DemandFor(s.Name.Namespace, s.Selector)
	for _, w := range o.owners {
		d.Add(q.workloads.Wants(w))
	}
	for _, w := range ownersOf(q.pods, append(o.Addresses(), q.pods.Pending(s.Name.Namespace, s.Selector)...)) {
		d.Add(q.workloads.Wants(w))
	}
	return d
}

// noteWanted notes since when pods are wanted again in an outage that began because none were wanted. Only what is known
// changes that: a workload that was deleted, or cannot be watched, changes nothing.
func noteWanted(q *Classes, o *Outage) {
	switch d := demand(q, o); {
	case d.IsNone():
		wantedNoMore(q, o)
	case d.Some && o.wanted.IsZero():
		o.wanted, o.wantedClock = q.watches.Now(), q.clock()
		q.scaledUp = append(q.scaledUp, o)
	}
}

func wantedNoMore(q *Classes, o *Outage) {
	o.wanted, q.scaledUp = time.Time{}, without(q.scaledUp, o)
}

// failToScaleUp begins an unplanned outage at the time since which pods are wanted again, because none has become ready for
// cause.FinalAfter. It is part of the same time without a ready address.
func failToScaleUp(q *Classes, o *Outage) {
	finish(q, o)
	o.service.OutageTime[o.Class] += q.ongoing(o)
	q.empty = without(q.empty, o)
	q.set(o, cause.Unplanned)
	o.Since, o.counted = o.wanted, o.wantedClock
	wantedNoMore(q, o)
	countOutage(q, o)
}
