// Package losses determines why Services lose ready addresses, and reports each loss once its cause is known.
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

// Service lists the methods of a Service that this package calls.
type Service interface {
	Exists() bool
	Named() transition.Service
	IsReady(address event.UID) bool
	// HasSteadyWriter reports whether the Service has no selector, and the first writer of its addresses also made the
	// latest write.
	HasSteadyWriter() bool
	// WasCleared reports whether the Service has a selector, and its Endpoints contain no manually managed addresses.
	WasCleared() bool
	Ledger() *Ledger
}

// podFacts lists the methods of package pods that this package calls.
type podFacts interface {
	Find(id event.UID) *pods.Pod
	// Named returns the name of a pod, even if the pod was deleted recently.
	Named(id event.UID) transition.Pod
	// Departed returns why a deleted pod lost its addresses. Pending returns why a pod is not ready, if this cause is
	// still tentative.
	Departed(id event.UID, notReady bool) (why cause.Cause, ok bool)
	Pending(id event.UID) (why cause.Cause, ok bool)
}

// nodeFacts lists the methods of package nodes that this package calls.
type nodeFacts interface {
	Trigger(node string, why cause.Cause) (trigger uint64, ok bool)
	// Announced describes what announced the departure of the node at t, such as a taint or a cordon. It returns an
	// empty string if nothing did.
	Announced(node string, t time.Time) string
}

// Loss is the loss of a ready address. It is kept until its cause is known and the loss has been reported.
type Loss struct {
	Service Service
	Change  transition.AddressLost
	// Foreign is set if the address was in an object of an unknown writer, and the Service has a selector. Known is set
	// if the address was in an object of a known manager.
	Foreign, Known bool
	// Manual is set if the address had no targetRef. InEndpoints is set if the address was in Endpoints, or in a slice
	// that mirrors Endpoints. Terminating is set if the address's pod is being deleted.
	Manual, InEndpoints, Terminating bool

	// outage is set if this loss began an outage of the Service. ended is the end of the outage, or nil if it
	// continues.
	outage bool
	ended  *transition.OutageEnded
	// after holds later changes of the address. They are reported after the loss.
	after []transition.Transition
	// settled reports whether the cause has been determined.
	settled bool
	// older is the previous unreported loss of the same address, or nil.
	older *Loss
}

// Losses holds the losses that wait for their cause.
type Losses struct {
	watches *watches.Watches
	found   *transition.List
	pods    podFacts
	nodes   nodeFacts

	// fresh holds the losses that are younger than evidenceWait, sorted by time. The field behind holds older losses
	// whose evidence comes from a lagging watch. A settled loss stays in its queue until its waiting time has passed.
	fresh, behind queue.Queue[*Loss]
	// of holds the newest unreported loss of each address.
	of map[event.UID]*Loss
}

// New returns an empty Losses.
func New(watches *watches.Watches, found *transition.List, pods podFacts, nodes nodeFacts) *Losses {
	return &Losses{watches: watches, found: found, pods: pods, nodes: nodes, of: map[event.UID]*Loss{}}
}

// Ledger holds the losses of one Service, and the facts that explain them.
type Ledger struct {
	// Changed is the time at which the Service last began to select other addresses. Edited is the time at which
	// somebody last wrote or deleted an object that a controller manages. SliceDeleted is the time at which a slice of
	// the EndpointSlice controller was last deleted.
	Changed, Edited, SliceDeleted time.Time

	// Lost counts how often an address stopped being ready. ByCause counts the settled losses by cause. Last and
	// LastCause are the time and the cause of the newest settled loss. They ignore foreign addresses.
	Lost      uint64
	ByCause   [cause.Count]uint32
	Last      time.Time
	LastCause cause.Cause
	// ownLost is the time at which the Service last lost a ready address that was not foreign.
	ownLost time.Time

	// unreported holds the unreported losses sorted by time.
	unreported queue.Queue[*Loss]
	// outage is the last loss that began an outage, or nil if it has been reported. outageCause is the reported cause
	// of the current outage.
	outage      *Loss
	outageCause cause.Cause
}

// Add counts a loss, and starts the search for its cause.
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

// Position returns the current end of the queue of losses. Losses that are added later follow this position.
func (q *Losses) Position() int { return q.fresh.End() }

// forget removes a reported loss.
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

// goneWithin applies to a Service that has lost its own addresses. If its foreign addresses are removed within this
// time, their removal is not the cause of the outage (transition.AddressLost, Foreign).
const goneWithin = 2 * time.Minute

// OutageBegan makes the last loss of an event the start of an outage. This loss and the outage have the same cause. The
// parameter position is the value of Position before the event. If only foreign addresses remained for longer than
// goneWithin, their removal is reported like any other loss.
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

// settle sets the cause of a loss. The losses of a Service are reported in the order of their times, so a settled loss
// waits for older ones. Thus all instances of kubeflap report the same order.
func (q *Losses) settle(l *Loss, why cause.Cause) {
	ledger := l.Service.Ledger()
	l.settled = true
	ledger.ByCause[why]++
	if l.Change.Foreign = l.Change.Foreign && why == cause.ManualWrite; !l.Change.Foreign {
		ledger.noteLast(l.Change.Time, why)
	}
	l.Change.Cause, l.Change.Steady = why, why == cause.ManualWrite && l.Manual && l.Service.HasSteadyWriter()
	l.Change.Managed = why == cause.Unknown && l.Known
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

// reportLoss reports a loss, the outage that began with it, and later changes of the address.
func (q *Losses) reportLoss(s Service, l *Loss) {
	q.forget(l)
	l.Change.Waited = q.watches.Now().Sub(l.Change.Time)
	q.Report(s, l.Change)
	if l.outage {
		// The outage is not reported when it begins. If the Service turns out to be deleted, there was no outage.
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

// ReportOf reports a change of an address. If a loss of the address has not been reported yet, the change is reported
// after it. Otherwise the address would seem to become ready before it was lost.
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

// noteLast stores the time and cause of the newest loss. It compares the times, because losses can be settled in any
// order. If losses have the same time, the result does not depend on the order of the calls.
func (g *Ledger) noteLast(t time.Time, why cause.Cause) {
	switch {
	case t.Before(g.Last):
	case t.Equal(g.Last) && g.LastCause != cause.Unknown && (why == cause.Unknown || why > g.LastCause):
	default:
		g.Last, g.LastCause = t, why
	}
}
