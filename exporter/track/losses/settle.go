package losses

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/queue"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// evidenceWait is the time for which a loss waits for evidence of its cause. Events of different watches can arrive in
// any order. If the watch with the evidence lags, the loss waits for watches.LagWait instead.
const evidenceWait = time.Second

// SettleCertainOf settles an address's losses whose cause is certain, oldest first. Call it after an event of the
// address's pod.
func (q *Losses) SettleCertainOf(id event.UID) { q.settleOldestFirst(q.byAddress[id]) }

func (q *Losses) settleOldestFirst(l *Loss) {
	if l != nil {
		q.settleOldestFirst(l.older)
		q.settleIfCertain(l)
	}
}

// SettleCertainFrom settles the losses that were added after the given position, if their causes are certain.
func (q *Losses) SettleCertainFrom(position int) {
	for _, l := range q.fresh.From(position) {
		q.settleIfCertain(l)
	}
}

func (q *Losses) settleIfCertain(l *Loss) {
	if l.settled {
		return
	}
	if x := q.explain(l); x.certain {
		q.settle(l, x.cause)
	}
}

// Due returns the earliest time at which the waiting time of a loss ends, and a function to call at that time. This
// function settles the loss, or lets the loss wait for a lagging watch. It is nil if no waiting time ends at `by` or
// earlier.
func (q *Losses) Due(by time.Time) (due time.Time, settle func()) {
	if !q.fresh.IsEmpty() {
		if at := q.fresh.Front().Change.Time.Add(evidenceWait); !at.After(by) {
			due, settle = at, q.settleFresh
		}
	}
	if !q.lagging.IsEmpty() {
		if at := q.lagging.Front().Change.Time.Add(watches.LagWait); !at.After(by) && (settle == nil || at.Before(due)) {
			due, settle = at, q.settleLagging
		}
	}
	return due, settle
}

func (q *Losses) settleFresh() {
	l := q.fresh.Take()
	if l.settled {
		return
	}
	if x := q.explain(l); x.lagging {
		q.lagging.Push(l)
	} else {
		q.settle(l, x.cause)
	}
}

func (q *Losses) settleLagging() {
	if l := q.lagging.Take(); !l.settled {
		q.settle(l, q.explain(l).cause)
	}
}

// SettleAll settles all losses with their most likely cause.
func (q *Losses) SettleAll() {
	for _, waiting := range []*queue.Queue[*Loss]{&q.lagging, &q.fresh} {
		for !waiting.IsEmpty() {
			if l := waiting.Take(); !l.settled {
				q.settle(l, q.explain(l).cause)
			}
		}
	}
}

// PodResolved settles the losses that waited for the cause of a pod's readiness change.
func (q *Losses) PodResolved(w *pods.ReadinessLoss) {
	q.SettleCertainOf(w.ID)
	q.settleOverdueOf(w.ID)
}

// settleOverdueOf settles a pod's losses that are older than evidenceWait. They waited for the cause of the pod's
// readiness change.
func (q *Losses) settleOverdueOf(id event.UID) {
	var waiting []*Loss
	for l := q.byAddress[id]; l != nil; l = l.older {
		if !l.settled && q.watches.Now().Sub(l.Change.Time) >= evidenceWait {
			waiting = append(waiting, l)
		}
	}
	for _, l := range slices.Backward(waiting) {
		if x := q.explain(l); !l.settled && !x.lagging {
			q.settle(l, x.cause)
		}
	}
}
