// Package losses determines the causes of lost ready addresses, and reports each loss once its cause is known.
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

// Service lists the methods of a Service that package losses calls.
type Service interface {
	Exists() bool
	Named() transition.Service
	IsReady(address event.UID) bool
	// HasSteadyWriter reports whether the Service has no selector, and its addresses have one writer.
	HasSteadyWriter() bool
	// WasCleared reports whether the Service has a selector and no manually managed addresses in Endpoints.
	WasCleared() bool
	Ledger() *Ledger
}

// podFacts lists the methods of package pods that package losses calls.
type podFacts interface {
	Find(id event.UID) *pods.Pod
	// Named also finds deleted pods.
	Named(id event.UID) transition.Pod
	// Departed returns the cause of the loss of a deleted pod's addresses. Pending returns the tentative cause for a
	// pod that waits for its node's event.
	Departed(id event.UID, notReady bool) (why cause.Cause, ok bool)
	Pending(id event.UID) (why cause.Cause, ok bool)
}

// nodeFacts lists the methods of package nodes that package losses calls.
type nodeFacts interface {
	Trigger(node string, why cause.Cause) (trigger uint64, ok bool)
	// Announced describes a node's departure announcement that applied at t, or is empty.
	Announced(node string, t time.Time) string
}

// Loss is a lost ready address. It exists until its cause is known and it has been reported.
type Loss struct {
	Service Service
	Change  transition.AddressLost
	// Foreign is set if an unknown writer managed the address's object and the Service has a selector. Known is set if
	// a known manager did.
	Foreign, Known bool
	// Manual is set if the address had no targetRef, InEndpoints if it was in Endpoints or a mirror, and Terminating if
	// its pod is being deleted.
	Manual, InEndpoints, Terminating bool

	// outage is set if the Service lost its last ready address with this loss. ended is the end of that outage, if it
	// has ended.
	outage bool
	ended  *transition.OutageEnded
	// after holds later changes of the address, which are reported after the loss.
	after []transition.Transition
	// settled reports whether the cause is known.
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

	// fresh holds losses sorted by time. behind holds losses that have waited for evidenceWait, but whose evidence will
	// arrive later. Settled losses stay in the queues until they are reported.
	fresh, behind queue.Queue[*Loss]
	// of holds the newest unreported loss of each address.
	of map[event.UID]*Loss
}

// New returns Losses without a loss.
func New(watches *watches.Watches, found *transition.List, pods podFacts, nodes nodeFacts) *Losses {
	return &Losses{watches: watches, found: found, pods: pods, nodes: nodes, of: map[event.UID]*Loss{}}
}

// Ledger holds the losses of one Service, and the facts that explain them.
type Ledger struct {
	// Changed is the time at which the Service last began to select other addresses. Edited is the time at which
	// somebody last wrote or deleted a controller's object. SliceDeleted is the time at which a slice of the controller
	// was last deleted.
	Changed, Edited, SliceDeleted time.Time

	// Lost counts the lost ready addresses. ByCause counts those with a settled cause. Last is the time of the newest
	// settled loss of an address that was not foreign, and LastCause is its cause.
	Lost      uint64
	ByCause   [cause.Count]uint32
	Last      time.Time
	LastCause cause.Cause
	// ownLost is the time at which the Service last lost a ready address that was not foreign.
	ownLost time.Time

	// unreported holds the unreported losses sorted by time.
	unreported queue.Queue[*Loss]
	// outage is the last unreported loss that started an outage, or nil. outageCause is the reported cause of the
	// current outage.
	outage      *Loss
	outageCause cause.Cause
}

// Add counts a lost address, and starts the search for its cause.
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

// Position returns the end of the queue. The losses that an event adds are behind the position before that event.
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

// goneWithin is the time after the loss of a Service's own addresses within which the removal of foreign ones does not count
// as harm.
const goneWithin = 2 * time.Minute

// OutageBegan makes an event's last loss the start of an outage, which then has the same cause. If the Service has
// depended on foreign addresses for longer than goneWithin, their removal counts as harm.
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

// settle sets the cause of a loss. A Service's losses are reported sorted by time, so that every watcher reports the
// same order, and a loss with an immediately known cause does not overtake an older one.
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
		// The outage waits for its cause: a deleted Service also loses its addresses, but has no outage.
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

// ReportOf reports a change of an address, but not before an unreported loss of the address. Otherwise a reader would
// see the return first and then wait for it forever.
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

// noteLast keeps the newest loss by time, because a loss with an immediately known cause may be settled before an older one.
// For several losses at the same time, the result does not depend on the order of settling.
func (g *Ledger) noteLast(t time.Time, why cause.Cause) {
	switch {
	case t.Before(g.Last):
	case t.Equal(g.Last) && g.LastCause != cause.Unknown && (why == cause.Unknown || why > g.LastCause):
	default:
		g.Last, g.LastCause = t, why
	}
}
