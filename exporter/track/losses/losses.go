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
	// WasCleared reports whether the Service has a selector and no manually managed addresses in Endpoints.
	WasCleared() bool
	Ledger() *Ledger
}

// podFacts lists the methods of package pods that this package calls.
type podFacts interface {
	Find(id event.UID) *pods.Pod
	// Named returns the name of a pod, even if the pod was deleted recently.
	Named(id event.UID) transition.Pod
	// Departed returns the cause of the loss of a deleted pod's addresses. Pending returns the tentative cause of a
	// pod's readiness loss, if the final cause still depends on an event of the pod's node.
	Departed(id event.UID, notReady bool) (why cause.Cause, ok bool)
	Pending(id event.UID) (why cause.Cause, ok bool)
}

// nodeFacts lists the methods of package nodes that this package calls.
type nodeFacts interface {
	Trigger(node string, why cause.Cause) (trigger uint64, ok bool)
	// Announced describes the departure announcement that was in force for the node at t. It returns an empty string if
	// there was none.
	Announced(node string, t time.Time) string
}

// Loss is the loss of a ready address. It is kept until its cause is known and the loss has been reported.
type Loss struct {
	Service Service
	Change  transition.AddressLost
	// Foreign is set if an unknown writer managed the object that contained the address, and the Service has a
	// selector. Known is set if a known manager managed that object.
	Foreign, Known bool
	// Manual is set if the address had no targetRef. InEndpoints is set if the address was in Endpoints, or in a slice
	// that mirrors Endpoints. Terminating is set if the address's pod is being deleted.
	Manual, InEndpoints, Terminating bool

	// outage is set if the Service lost its last ready address with this loss. ended is the end of that outage, or nil
	// if the outage continues.
	outage bool
	ended  *transition.OutageEnded
	// after holds later changes of the address, which are reported after the loss.
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

	// fresh holds the newest losses, sorted by time. The field behind holds the losses that have waited for as long as
	// evidenceWait, but whose evidence comes from a watch that lags. A settled loss stays in its queue until its
	// waiting time has passed.
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
	// somebody last wrote or deleted a controller's object. SliceDeleted is the time at which a slice of the
	// EndpointSlice controller was last deleted.
	Changed, Edited, SliceDeleted time.Time

	// Lost counts the lost ready addresses. ByCause counts the settled losses by cause. Last is the time of the newest
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

// Position returns the current end of the queue of fresh losses. The losses that are added later follow that position.
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

// goneWithin limits the time from the loss of a Service's own addresses to the removal of its foreign addresses. Within
// this time, the removal does not count as the cause of an outage (transition.AddressLost, Foreign).
const goneWithin = 2 * time.Minute

// OutageBegan makes an event's last loss the start of an outage. The outage gets the same cause as that loss. The
// parameter position is the value of Position before the event. If the Service has had only foreign addresses for
// longer than goneWithin, their removal caused the outage. The removal is then reported like the loss of any other
// address.
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

// settle sets the cause of a loss. A Service's losses are reported sorted by time, so that every instance of kubeflap
// reports the same order. A loss with an immediately known cause does not overtake an older loss.
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

// ReportOf reports a change of an address. If a loss of the address has not been reported yet, the change waits until
// after the loss. Otherwise a reader of the transitions would see the return before the loss, and then wait forever for
// another return.
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

// noteLast keeps the newest loss by time, because a loss with an immediately known cause can be settled before an older
// loss. For several losses at the same time, the result does not depend on the order in which they are settled.
func (g *Ledger) noteLast(t time.Time, why cause.Cause) {
	switch {
	case t.Before(g.Last):
	case t.Equal(g.Last) && g.LastCause != cause.Unknown && (why == cause.Unknown || why > g.LastCause):
	default:
		g.Last, g.LastCause = t, why
	}
}
