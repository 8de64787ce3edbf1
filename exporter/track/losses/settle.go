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

// SettleCertain settles the losses whose cause is certain.
func (q *Losses) SettleCertain(some []*Loss) {
	for _, l := range some {
		if l.settled {
			continue
		}
		if x := q.explain(l); x.certain {
			q.settle(l, x.cause)
		}
	}
}

// SettleCertainOf settles an address's losses whose cause is certain. Call it after an event of the address's pod.
func (q *Losses) SettleCertainOf(id event.UID) { q.SettleCertain(slices.Clone(q.byAddress[id])) }

// PodResolved settles the losses that waited for the cause of a pod's readiness change.
func (q *Losses) PodResolved(w *pods.ReadinessLoss) {
	q.SettleCertainOf(w.ID)
	for _, l := range slices.Clone(q.byAddress[w.ID]) {
		if l.settled || q.watches.Now().Sub(l.Change.Time) < evidenceWait {
			continue
		}
		if x := q.explain(l); !x.lagging {
			q.settle(l, x.cause)
		}
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
			due, settle = at, func() { q.settleNow(q.lagging.Take()) }
		}
	}
	return due, settle
}

func (q *Losses) settleFresh() {
	if l := q.fresh.Take(); !l.settled && q.explain(l).lagging {
		q.lagging.Push(l)
	} else {
		q.settleNow(l)
	}
}

// settleNow settles a loss with its most likely cause.
func (q *Losses) settleNow(l *Loss) {
	if !l.settled {
		q.settle(l, q.explain(l).cause)
	}
}

// SettleAll settles all losses with their most likely cause.
func (q *Losses) SettleAll() {
	for _, waiting := range []*queue.Queue[*Loss]{&q.lagging, &q.fresh} {
		for !waiting.IsEmpty() {
			q.settleNow(waiting.Take())
		}
	}
}
