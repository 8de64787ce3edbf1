// Package losses finds why ready addresses were lost, and reports each loss once
// its cause is known.
package losses

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/queue"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Service is what losses ask of a Service.
type Service interface {
	Exists() bool
	Named() transition.Service
	IsReady(address event.UID) bool
	// HasSteadyWriter reports whether the Service has no selector, and one writer of its addresses.
	HasSteadyWriter() bool
	// WasCleared reports whether the Service has a selector and no manually managed addresses in Endpoints.
	WasCleared() bool
	Ledger() *Ledger
}

// podFacts are what losses ask of package pods.
type podFacts interface {
	Find(id event.UID) *pods.Pod
	// Named knows deleted pods, too.
	Named(id event.UID) transition.Pod
	// Departed is why the addresses of a deleted pod were lost; Pending is the tentative cause of a pod that waits for its node.
	Departed(id event.UID, notReady bool) (why cause.Cause, ok bool)
	Pending(id event.UID) (why cause.Cause, ok bool)
}

// nodeFacts are what losses ask of package nodes.
type nodeFacts interface {
	Trigger(node string, why cause.Cause) (trigger uint64, ok bool)
	// Announced says what had announced the departure of a node by t; empty if nothing had.
	Announced(node string, t time.Time) string
}

// Loss is a ready address that was lost, until its cause is known and it is reported.
type Loss struct {
	Service Service
	Change  transition.AddressLost
	// Foreign: it was in an object beside a selector that neither Kubernetes nor a known manager wrote. Known: in one of a known manager.
	Foreign, Known bool
	// Manual: it had no targetRef. InEndpoints: it was in Endpoints, or in a slice that mirrors them. Terminating: it leaves because its pod is deleted.
	Manual, InEndpoints, Terminating bool

	// outage: with it the Service lost its last ready address. ended is the end of that outage, if it has ended already.
	outage bool
	ended  *transition.OutageEnded
	// after are later changes of the address, which are reported after the loss.
	after []transition.Transition
	// settled: its cause is known.
	settled bool
	// older is the loss of the same address before this one that is not reported either; nil if there is none.
	older *Loss
}

// Losses are the losses that wait for their cause.
type Losses struct {
	watches *watches.Watches
	found   *transition.List
	pods    podFacts
	nodes   nodeFacts

	// fresh are in the order in which they happened. behind have waited for evidenceWait, and their evidence is known
	// to be on its way. Settled losses leave the queues in their turn.
	fresh, behind queue.Queue[*Loss]
	// of are the newest unreported losses of each address.
	of map[event.UID]*Loss
}

// New makes an empty set of losses.
func New(watches *watches.Watches, found *transition.List, pods podFacts, nodes nodeFacts) *Losses {
	return &Losses{watches: watches, found: found, pods: pods, nodes: nodes, of: map[event.UID]*Loss{}}
}

// Ledger is what is known of the losses of one Service.
type Ledger struct {
	// Changed is when the Service last began to select other addresses. Edited is when somebody last wrote or deleted an object
	// that a controller keeps. SliceDeleted is when a slice was deleted that the controller keeps.
	Changed, Edited, SliceDeleted time.Time

	// Lost counts the ready addresses that were lost; ByCause those whose cause is known. Last is when the last of these
	// was lost, for LastCause, foreign addresses aside.
	Lost      uint64
	ByCause   [cause.Count]uint32
	Last      time.Time
	LastCause cause.Cause
	// ownLost is when the Service last lost a ready address that was not foreign.
	ownLost time.Time

	// unreported are the losses that are not reported yet, in the order in which they happened.
	unreported queue.Queue[*Loss]
	// outage is the last unreported loss with which an outage began; nil if there is none. outageCause is why the current outage
	// began, once that is reported.
	outage      *Loss
	outageCause cause.Cause
}

// Add counts a lost address, and begins to look for the cause.
func (q *Losses) Add(l *Loss) {
	ledger := l.Service.Ledger()
	ledger.Lost++
	if !l.Change.Foreign {
		ledger.ownLost = l.Change.Time
	}
	q.fresh.Push(l)
	id := l.Change.ID
	l.older = q.of[id]
	q.of[id] = l
	ledger.unreported.Push(l)
}

// Position is the end of the queue: the losses of an event are those behind the position before it.
func (q *Losses) Position() int { return q.fresh.End() }

// forget takes out a loss that is reported.
func (q *Losses) forget(l *Loss) {
	id := l.Change.ID
	newest := q.of[id]
	if newest == l {
		if l.older == nil {
			delete(q.of, id)
		} else {
			q.of[id] = l.older
		}
		return
	}
	for x := newest; x != nil; x = x.older {
		if x.older == l {
			x.older = l.older
			return
		}
	}
}

// goneWithin is how long after a Service lost its own addresses the removal of foreign ones only shows that it has none.
const goneWithin = 2 * time.Minute

// OutageBegan makes the cause of the last loss of an event the cause of the outage that began with it. If the Service had lived on foreign
// addresses for some time, their removal is harm.
func (q *Losses) OutageBegan(s Service, position int) {
	ledger := s.Ledger()
	ledger.outageCause = cause.Unknown
	made := q.fresh.From(position)
	if len(made) == 0 {
		return
	}
	for _, l := range made {
		l.Change.Foreign = l.Change.Foreign && !ledger.ownLost.IsZero() && l.Change.Time.Sub(ledger.ownLost) <= goneWithin
	}
	if last := made[len(made)-1]; last.Service == s && !last.outage {
		last.outage, ledger.outage = true, last
	}
}

// OutageEnded reports the end of an outage once its cause is known.
func (q *Losses) OutageEnded(s Service, change transition.OutageEnded) {
	ledger := s.Ledger()
	if ledger.outage != nil && ledger.outage.ended == nil {
		ledger.outage.ended = &change
		return
	}
	change.Cause = ledger.outageCause
	q.Report(s, change)
}

// settle gives a loss its cause. Losses of a Service are reported in the order in which they happened, which is
// the same for every watcher: a loss whose cause is known at once does not overtake an older one.
func (q *Losses) settle(l *Loss, why cause.Cause) {
	ledger := l.Service.Ledger()
	l.settled = true
	ledger.ByCause[why]++
	if l.Change.Foreign = l.Change.Foreign && why == cause.ManualWrite; !l.Change.Foreign {
		ledger.noteLast(l.Change.Time, why)
	}
	l.Change.Cause, l.Change.Steady = why, why == cause.ManualWrite && l.Manual && l.Service.HasSteadyWriter()
	if pod := q.pods.Named(l.Change.ID); pod.Name != "" {
		l.Change.Pod = pod
	}
	if why == cause.PodEvicted || why == cause.PodDeleted {
		l.Change.Announced = q.nodes.Announced(l.Change.Pod.Node, l.Change.Time)
	}
	if why.OfNode() {
		if trigger, ok := q.nodes.Trigger(l.Change.Pod.Node, why); ok {
			l.Change.Trigger = trigger
		}
	}
	for waiting := &ledger.unreported; !waiting.IsEmpty() && waiting.Front().settled; {
		q.reportLoss(l.Service, waiting.Take())
	}
}

// reportLoss reports a loss, the outage that began with it, and what happened to the address since.
func (q *Losses) reportLoss(s Service, l *Loss) {
	q.forget(l)
	l.Change.Waited = q.watches.Now().Sub(l.Change.Time)
	q.Report(s, l.Change)
	if l.outage {
		// Not before its cause is known: a deleted Service loses its addresses, too, and that is no outage.
		q.Report(s, transition.OutageStarted{At: l.Change.At, Service: s.Named(), Cause: l.Change.Cause, Trigger: l.Change.Trigger})
	}
	for _, change := range l.after {
		q.Report(s, change)
	}
	if !l.outage {
		return
	}
	ledger := s.Ledger()
	if ledger.outage == l {
		ledger.outage = nil
	}
	if l.ended == nil {
		ledger.outageCause = l.Change.Cause
		return
	}
	l.ended.Cause = l.Change.Cause
	q.Report(s, *l.ended)
}

// ReportOf reports a change of an address, but only after its unreported loss. A reader that saw the return before the loss would
// wait for the return for ever.
func (q *Losses) ReportOf(s Service, address event.UID, change transition.Transition) {
	for l := q.of[address]; l != nil; l = l.older {
		if l.Service == s {
			l.after = append(l.after, change)
			return
		}
	}
	q.Report(s, change)
}

// Report reports a change of a Service, unless the Service does not exist.
func (q *Losses) Report(s Service, change transition.Transition) {
	if s.Exists() {
		q.found.Add(change)
	}
}

// noteLast keeps the newest loss by time: a loss whose cause is known at once may be settled before an older one. Of several at the
// same time, the cause does not depend on which was settled first.
func (g *Ledger) noteLast(t time.Time, why cause.Cause) {
	switch {
	case t.Before(g.Last):
	case t.Equal(g.Last) && g.LastCause != cause.Unknown && (why == cause.Unknown || why > g.LastCause):
	default:
		g.Last, g.LastCause = t, why
	}
}
