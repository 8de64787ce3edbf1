package losses

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// evidenceWait is the time for which a loss waits for evidence of its cause. Events of different watches can arrive in
// any order. If the watch with the evidence lags, the loss waits for watches.LagWait instead.
const evidenceWait = time.Second

// SettleCertain settles the losses whose cause is certain.
func (q *Losses) SettleCertain(some []*Loss) {
	q.settleIf(some, func(_ *Loss, x explanation) bool { return x.certain })
}

// settleIf settles those of the losses that wait for no more evidence.
func (q *Losses) settleIf(some []*Loss, enough func(*Loss, explanation) bool) {
	for _, l := range slices.Clone(some) {
		if l.Settled {
			continue
		}
		if x := q.explain(l); enough(l, x) {
			q.settle(l, x.cause)
		}
	}
}

// SettleCertainOf settles an address's losses whose cause is certain. Call it after an event of the address's pod.
func (q *Losses) SettleCertainOf(id event.UID) { q.SettleCertain(q.byAddress[id]) }

// PodResolved settles the losses that waited for the cause of a pod's readiness change.
func (q *Losses) PodResolved(w *pods.ReadinessLoss) {
	q.SettleCertainOf(w.Pod.ID)
	q.settleIf(q.byAddress[w.Pod.ID], func(l *Loss, x explanation) bool {
		return q.watches.Now().Sub(l.Change.Time) >= evidenceWait && !x.lagging
	})
}

// Due returns the earliest time at which the waiting time of a loss ends or a class becomes final, and a function to call
// at that time. This function settles the loss, lets the loss wait for a lagging watch, or makes the class final. It is
// nil if there is no such time until `by`.
func (q *Losses) Due(by time.Time) (due time.Time, settle func()) {
	if len(q.fresh) > 0 {
		if at := q.fresh[0].Change.Time.Add(evidenceWait); !at.After(by) {
			due, settle = at, func() { q.settleFirst(&q.fresh, &q.lagging) }
		}
	}
	if len(q.lagging) > 0 {
		if at := q.lagging[0].Change.Time.Add(watches.LagWait); !at.After(by) && (settle == nil || at.Before(due)) {
			due, settle = at, func() { q.settleFirst(&q.lagging, nil) }
		}
	}
	if at, decide := q.Classes.Due(by); decide != nil && (settle == nil || at.Before(due)) {
		due, settle = at, decide
	}
	return due, settle
}

// settleFirst settles the first loss of a queue with its most likely cause. If a watch with evidence may lag, it moves
// the loss to the queue `next` instead, unless that is nil.
func (q *Losses) settleFirst(queue, next *[]*Loss) {
	l := watches.Take(queue)
	if l.Settled {
		return
	}
	if x := q.explain(l); x.lagging && next != nil {
		*next = append(*next, l)
	} else {
		q.settle(l, x.cause)
	}
}

// SettleAll settles all losses with their most likely cause, and makes all classes final.
func (q *Losses) SettleAll() {
	for _, waiting := range []*[]*Loss{&q.lagging, &q.fresh} {
		for len(*waiting) > 0 {
			q.settleFirst(waiting, nil)
		}
	}
	q.FinishAll()
}
