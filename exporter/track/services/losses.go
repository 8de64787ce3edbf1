package services

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// evidenceWait is the time for which a loss waits for evidence of its cause. Events of different watches can arrive in
// any order. If the watch with the evidence lags, the loss waits for watches.LagWait instead.
const evidenceWait = time.Second

// loss records that an address stopped being ready. It waits for evidence of its cause. Then it is reported, after the older
// losses of its Service. It is counted once its class is final.
type loss struct {
	service *service
	change  transition.AddressLost
	// `manual` is set if the address had no targetRef. terminating is set if the address's pod is being deleted.
	manual, terminating bool
	// `of` is the number of the Service's ready addresses before the loss.
	of int
	// `vanished` is set if the object with the address, or its pod, was deleted while kubeflap did not watch.
	vanished bool
	// keeper is the kind of writer of the object with the address. edited and deleted are those of the update.
	keeper          keeper
	edited, deleted bool
	// version is the resourceVersion of the write that made the loss, or 0 if it is unknown.
	version uint64
	// settled is set if the cause has been determined.
	settled bool
	// outage is the outage that began with the event that made the loss. Without one, it is a record of only this loss, or nil
	// until the cause is determined.
	outage *outage
	// `after` reports what must be reported after the loss: later changes of the address, and the outage.
	after []func()
	// planned is set if the departure of the pod or of its node was announced.
	planned  bool
	owner    event.WorkloadName
	revision string
	// recovered is the time of the Service's last recovery before the loss, or zero. An update before it explains nothing.
	recovered time.Time
}

// losses determines why addresses stopped being ready.
type losses struct {
	classes
	// byAddress holds the unreported losses of each address, oldest first.
	byAddress map[event.UID][]*loss
}

// await settles a loss after evidenceWait. If a watch with evidence lags, it does so after watches.LagWait.
func (q *losses) await(l *loss) {
	q.watches.Schedule(l.change.Time.Add(evidenceWait), watches.RankServices, func() {
		if q.settleIf(l, true); !l.settled {
			q.watches.Schedule(l.change.Time.Add(watches.LagWait), watches.RankServices, func() { q.settleIf(l, true) })
		}
	})
}

// settleIf settles a loss if its cause is certain. If mayGuess is set, it also settles a loss that has waited for long enough.
func (q *losses) settleIf(l *loss, mayGuess bool) {
	if l.settled {
		return
	}
	x, waited := q.explain(l), q.watches.Now().Sub(l.change.Time)
	if x.certain || mayGuess && (waited >= evidenceWait && !x.lagging || waited >= watches.LagWait) {
		q.settle(l, x.cause)
	}
}

// settleAny settles those of the losses that settleIf can settle.
func (q *losses) settleAny(some []*loss, mayGuess bool) {
	for _, l := range slices.Clone(some) {
		q.settleIf(l, mayGuess)
	}
}

// PodResolved settles the losses that waited for the cause of a pod's readiness change, and for nothing else.
func (q *losses) PodResolved(w *pods.ReadinessLoss) { q.settleAny(q.byAddress[w.Pod.ID], true) }

// settleAll settles all losses with their most likely cause, and makes all classes final.
func (q *losses) settleAll() {
	all := slices.Concat(slices.Collect(maps.Values(q.byAddress))...)
	slices.SortFunc(all, compareLosses)
	for _, l := range all {
		if !l.settled {
			q.settle(l, q.explain(l).cause)
		}
	}
	q.each(func(o *outage) {
		if o.single {
			q.review(o)
		}
		q.finish(o)
	})
}

// settle sets the cause of a loss. It then reports the Service's settled losses in order of time. A settled loss waits
// for older losses, so all instances of kubeflap report the losses in the same order.
func (q *losses) settle(l *loss, why cause.Cause) {
	s, c := l.service, &l.change
	l.settled = true
	if why == cause.EndpointsReset {
		q.settleReset(s) // what began the loss is reported first
	}
	c.Vanished = why == cause.Unknown && l.vanished
	c.Foreign = c.Foreign && (why == cause.ManualWrite || c.Vanished)
	c.Cause, c.Steady = why, why == cause.ManualWrite && q.hasSteadyWriter(s)
	c.Managed = why == cause.Unknown && l.keeper == knownManager
	if pod := q.pods.Named(c.ID); pod.Name != "" {
		c.Pod = pod
	}
	p, _ := q.pods.Recall(c.ID)
	if p != nil {
		c.Why = q.pods.Why(p, why, l.version, c.Time)
	}
	switch text, ok := l.relabelling(); {
	case why == cause.ServiceChanged && ok && !q.changedAround(l):
		c.Relabelled, c.Why = true, text
	case why == cause.PodEvicted && p != nil && q.pods.EvictedByAPI(p):
		c.Announced = q.nodes.AnnouncedEviction(c.Pod.Node, c.Time)
	case why == cause.PodEvicted && p != nil && q.pods.EvictedByKubelet(p):
		c.Announced = q.pods.AnnouncedShutdown(p, c.Time)
	case why == cause.PodEvicted, why == cause.PodDeleted, c.Vanished:
		c.Announced = q.nodes.Announced(c.Pod.Node, c.Time)
	}
	if why.OfNode() {
		if trigger, ok := q.nodes.Trigger(c.Pod.Node, why); ok {
			c.Trigger = trigger
		}
	}
	q.decide(l)
	for len(s.unreported) > 0 && s.unreported[0].settled {
		first := s.unreported[0]
		s.unreported[0], s.unreported = nil, s.unreported[1:] // the array can live much longer
		q.reportLoss(first)
	}
}

func compareLosses(a, b *loss) int {
	return cmp.Or(a.change.Time.Compare(b.change.Time), compareServices(a.service, b.service), order(a.change.ID, b.change.ID))
}

// reportLoss reports a loss, and what has to wait for it.
func (q *losses) reportLoss(l *loss) {
	id := l.change.ID
	i := slices.Index(q.byAddress[id], l)
	if q.byAddress[id] = slices.Delete(q.byAddress[id], i, i+1); len(q.byAddress[id]) == 0 {
		delete(q.byAddress, id)
	}
	s := l.service
	if s.Losses[l.change.Cause]++; !l.change.Foreign {
		s.noteLast(l.change.Time, l.change.Cause)
	}
	l.change.Waited = q.watches.Now().Sub(l.change.Time)
	noteReplaced(l)
	q.report(s, l.change)
	for _, report := range l.after {
		report()
	}
}

// noteLast stores the time and cause of the newest loss. Of losses at the same time, one with a known cause counts, and the
// order of the calls does not affect the result.
func (s *service) noteLast(t time.Time, why cause.Cause) {
	if t.Equal(s.LastLoss) && s.LastCause != cause.Unknown && (why == cause.Unknown || why > s.LastCause) {
		return
	}
	s.LastLoss, s.LastCause = t, why
}

// reportOf reports a change of an address. If a loss of the address has not been reported yet, the change is reported
// after this loss. Otherwise the address would seem to become ready before it was lost.
func (q *losses) reportOf(s *service, address event.UID, change transition.Transition) {
	for _, l := range slices.Backward(q.byAddress[address]) {
		if l.service == s {
			l.after = append(l.after, func() { q.report(s, change) })
			return
		}
	}
	q.report(s, change)
}

// roundWithin is the time within which the replacement of pods explains at most one loss for each of a Service's
// addresses.
const roundWithin = 10 * time.Minute

// replacement is a loss because of a pod that was deleted, evicted or completed. `of` is the number of the Service's ready
// addresses before.
type replacement struct {
	at    time.Time
	of    int
	owner string
}

// noteReplaced notes whether the Service's pods are replaced again and again. It counts for each owner of pods, because each
// rollout of a Deployment replaces the pods of another ReplicaSet. Announced departures of nodes do not count.
func noteReplaced(l *loss) {
	s, c := l.service, &l.change
	if !c.Cause.EndsPod() || c.Announced != "" {
		return
	}
	s.replaced = append(s.replaced, replacement{c.Time, l.of, c.Pod.Owner})
	s.replaced = slices.DeleteFunc(s.replaced, func(x replacement) bool { return c.Time.Sub(x.at) > roundWithin })
	losses, most := 0, 0
	for _, x := range s.replaced {
		if x.owner == c.Pod.Owner {
			losses, most = losses+1, max(most, x.of)
		}
	}
	if losses > most {
		c.Losses, c.Of = losses, most
	}
}
