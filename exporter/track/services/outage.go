package services

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// outage is a time during which a Service has no ready address. It has the same cause as the loss with which it began. A loss
// with which no outage began has a record of its own, because its class is decided in the same way: then `single` is set.
type outage struct {
	service *service
	since   time.Time
	class   cause.Class
	single  bool
	// down is the time since which the Service has had no ready address. `since` is later if pods were not wanted until
	// then. `earliest` is the earliest possible time, which is before down if a watch was broken.
	down, earliest time.Time
	// `found` is set if the Service had no ready address in the first lists. Such an outage is not counted, unless pods are
	// wanted since then.
	found bool
	// begins is the last loss with which the outage began, until it has been reported. Then the cause is known.
	begins *loss
	cause  cause.Cause
	// final is set once the class cannot change and the outage has been counted.
	final bool
	// made holds the losses with which the outage began, until the class is final. `lost` holds their pods. owners holds the
	// owners of the Service's last pods. A pod of an unknown owner has the zero name.
	made   []*loss
	lost   []event.UID
	owners []event.WorkloadName
	// time is the length of the outage up to `measured` that is not counted yet.
	time     time.Duration
	measured time.Time
	// wanted is the time since which pods are wanted again, or zero. The time since then is not counted yet.
	wanted time.Time
	// wait is what the Service waits for.
	wait transition.Wait
}

// goneWithin is the maximum time between the loss of a Service's own addresses and the removal of its foreign
// addresses. A removal within this time does not count as the cause of an outage (transition.AddressLost, Foreign).
const goneWithin = 2 * time.Minute

func (o *outage) isOngoing() bool { return o.service.outage == o }

// isOf reports whether the class can depend on a workload, because it owned a lost pod.
func (o *outage) isOf(w event.WorkloadName) bool {
	return slices.ContainsFunc(o.made, func(l *loss) bool { return l.owner == w })
}

// beginOutage begins an outage with the losses that an event made. If the removed foreign addresses outlasted the
// Service's own addresses by more than goneWithin, they no longer count as foreign.
func (q *classes) beginOutage(s *service, t time.Time, made []*loss) {
	o := &outage{since: t, earliest: q.notBefore(q.readFrom, t), made: made}
	for _, l := range made {
		l.outage, o.begins = o, l
		l.change.Foreign = l.change.Foreign && s.ownLost != 0 && l.change.Time.Sub(q.watches.Time(s.ownLost)) <= goneWithin
		o.lost = append(o.lost, l.change.ID)
	}
	if l := o.begins; l != nil {
		// An outage is reported only after its cause is known. It is not reported if the Service was deleted in the meantime.
		l.after = append(l.after, func() {
			o.begins, o.cause = nil, l.change.Cause
			q.report(s, transition.OutageStarted{At: l.change.At, Service: s.name, Cause: o.cause, Trigger: l.change.Trigger, Class: o.class})
		})
	}
	q.begin(s, o)
	o.owners = q.ownersOf(append(s.ids(q.readFrom), o.lost...))
	q.ask(o, t.Add(waitsAfter))
}

// findOutage begins an outage of a Service that had no ready address in the first lists.
func (q *classes) findOutage(s *service) {
	o := &outage{since: q.watches.Now(), class: cause.Found, found: true}
	q.begin(s, o)
	q.review(o)
}

// continueOutage begins an outage that had begun before the first lists.
func (q *classes) continueOutage(s *service, p Outage) {
	now, class := q.watches.Now(), cause.ParseClass(p.Class)
	o := &outage{since: p.Since, earliest: p.Since, class: class, found: p.Found, wait: p.Wait}
	if q.begin(s, o); now.Sub(o.since) >= cause.FinalAfter {
		o.measured = now
		q.makeFinal(o)
	}
	if o.found {
		return
	}
	q.report(s, transition.OutageStarted{At: transition.At{Time: o.since, Waited: now.Sub(o.since)}, Service: s.name, Class: class})
	due := o.since.Add(waitsAfter)
	if late := now.Sub(due); late >= 0 {
		due = now.Add(askEvery - late%askEvery)
	}
	if q.ask(o, due); o.wait.Kind != "" {
		q.report(s, transition.OutageWaits{At: at(now), Service: s.name, Wait: o.wait})
	}
}

func (q *classes) begin(s *service, o *outage) {
	s.outage, o.service, o.down, o.measured = o, s, o.since, o.since
	q.keep(o)
}

// endOutage ends the current outage of a Service.
func (q *classes) endOutage(s *service) {
	o := s.outage
	o.wanted = time.Time{}
	if q.measure(o); o.final {
		q.drop(o)
	}
	s.outage, s.recovered = nil, q.watches.Now()
	q.noteOver(o)
	q.review(o)
}

// recover ends the current outage of a Service, and reports its end once the cause is known. `earliest` is the earliest
// possible time.
func (q *classes) recover(s *service, t, earliest time.Time) {
	o := s.outage
	q.endOutage(s)
	end := func() {
		q.report(s, transition.OutageEnded{
			At: at(t), Service: s.name, Lasted: t.Sub(o.down), AtLeast: max(earliest.Sub(o.down), 0), AtMost: t.Sub(cmp.Or(o.earliest, o.down)), Cause: o.cause, Class: o.class,
		})
	}
	switch {
	case o.begins != nil:
		o.begins.after = append(o.begins.after, end)
	case !o.found:
		end()
	}
}

// expire makes the class of an outage or a single loss final that began cause.FinalAfter ago. If a watch is broken, kubeflap
// does not know whether the outage is ongoing, so it has to wait for the watch.
func (q *classes) expire(o *outage) {
	watched := q.watches.Up(event.KindService) && q.watches.Up(q.readFrom)
	lasted := q.watches.Now().Sub(cmp.Or(o.wanted, o.since))
	switch {
	case !o.single && !watched, lasted < cause.FinalAfter:
	case !o.wanted.IsZero():
		// None has become ready. It is part of the same time without a ready address.
		q.set(o, cause.Unplanned)
		o.since, o.wanted = o.wanted, time.Time{}
		q.drop(o)
		q.countOutage(o)
	case !o.final:
		if q.review(o); !o.single && (o.class == cause.Planned || o.class == cause.Rollout) {
			q.set(o, cause.Unplanned)
		}
		q.finish(o)
	}
}

// measure measures the time of an outage up to now, and adds it to the counter if the class is final. Time without sight of the
// outage does not count.
func (q *facts) measure(o *outage) {
	now := q.watches.Now()
	until := now
	if since, blind := q.blindSince(); blind {
		until = since
	}
	if o.isOngoing() {
		o.time += max(until.Sub(o.measured), 0)
	}
	if o.measured = now; o.final && o.wanted.IsZero() && o.counts() {
		o.service.OutageTime[o.class] += o.time
		o.time = 0
	}
}

// counts reports whether an outage is counted.
func (o *outage) counts() bool { return !o.single && (!o.found || o.class == cause.Unplanned) }

// countOutage counts an outage whose class has become final, with its time so far.
func (q *classes) countOutage(o *outage) {
	q.noteCounted(o.service, o.class)
	o.service.Outages[o.class]++
	q.measure(o)
}

// ownersOf returns the distinct workloads of some pods.
func (q *workloads) ownersOf(ids []event.UID) (owners []event.WorkloadName) {
	for _, id := range ids {
		if w, _ := q.pods.Workload(id); !slices.Contains(owners, w) {
			owners = append(owners, w)
		}
	}
	return owners
}

// demandIn returns how many pods a Service without ready addresses should have: by the workloads that its selector matches,
// and by the owners of its last and current pods. Pods of an unknown owner make it unknown whether it should have none.
func (q *workloads) demandIn(o *outage) (pods int32, none bool) {
	s := o.service
	current := append(s.ids(q.readFrom), q.pods.Pending(s.name.Namespace, s.selector)...)
	return q.demand(s.name.Namespace, s.selector, append(q.ownersOf(current), o.owners...)...)
}

// noteWanted notes since when pods are wanted again in an outage that began because none were wanted. Only what is known
// changes that: a workload that was deleted, or cannot be watched, changes nothing.
func (q *classes) noteWanted(o *outage) {
	switch pods, none := q.demandIn(o); {
	case none:
		o.wanted = time.Time{}
	case pods > 0 && o.wanted.IsZero():
		if q.finish(o); o.final {
			q.measure(o)
			o.wanted, o.time = q.watches.Now(), 0
			q.watches.Schedule(o.wanted.Add(cause.FinalAfter), watches.RankServices, func() { q.expire(o) })
		}
	}
}
