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
	// HasSteadyWriter reports whether the latest writer of a Service's addresses was also their first writer. It
	// returns false if the Service has a selector.
	HasSteadyWriter() bool
	// WasCleared reports whether the Service has a selector, but no manually managed addresses in its Endpoints.
	WasCleared() bool
	Ledger() *Ledger
}

// podFacts lists the methods of package pods that this package calls.
type podFacts interface {
	// Recall returns a pod that exists or was deleted recently, and Named returns its name.
	Recall(id event.UID) (p *pods.Pod, deleted bool)
	Named(id event.UID) transition.Pod
}

// nodeFacts lists the methods of package nodes that this package calls.
type nodeFacts interface {
	Trigger(node string, why cause.Cause) (trigger uint64, ok bool)
	// Announced describes the departure announcement that was in effect at t, such as a taint or a cordon. It returns
	// an empty string if there was none.
	Announced(node string, t time.Time) string
}

// Loss records that an address stopped being ready. It is kept until it has been reported with its cause.
type Loss struct {
	Service Service
	Change  transition.AddressLost
	// Foreign is set if the Service has a selector and an unknown writer manages the object with the address. Known is
	// set if a known manager manages that object.
	Foreign, Known bool
	// Manual is set if the address had no targetRef. InEndpoints is set if the address was in Endpoints, or in a slice
	// that mirrors Endpoints. Terminating is set if the address's pod is being deleted.
	Manual, InEndpoints, Terminating bool
	// Vanished is set if the object with the address, or its pod, was deleted while kubeflap did not watch.
	Vanished bool

	// version is the resourceVersion of the write that made the loss, or 0 if it is unknown. `edited` is set if somebody
	// made this write to an object that a controller manages.
	version uint64
	edited  bool
	// beganOutage is set if this loss began an outage of the Service. outageEnd is the end of that outage, or nil
	// while it continues.
	beganOutage bool
	outageEnd   *transition.OutageEnded
	// `after` holds later changes of the address. They are reported after the loss.
	after []transition.Transition
	// `settled` is set if the cause has been determined.
	settled bool
	// `older` is the previous unreported loss of the same address, or nil.
	older *Loss
}

// Losses holds the losses that have not been reported.
type Losses struct {
	watches *watches.Watches
	found   *transition.List
	pods    podFacts
	nodes   nodeFacts

	// `fresh` holds the losses that are younger than evidenceWait, sorted by time. `lagging` holds older losses that
	// wait for evidence from a lagging watch. A settled loss stays in its queue until its waiting time has passed.
	fresh, lagging queue.Queue[*Loss]
	// byAddress maps each address to its newest unreported loss.
	byAddress map[event.UID]*Loss
}

// New returns an empty Losses.
func New(watches *watches.Watches, found *transition.List, pods podFacts, nodes nodeFacts) *Losses {
	return &Losses{watches: watches, found: found, pods: pods, nodes: nodes, byAddress: map[event.UID]*Loss{}}
}

// Ledger holds the losses of one Service, and the facts that explain them.
type Ledger struct {
	// Changed is the time at which the Service's selection of pods last changed, by its selector or by
	// publishNotReadyAddresses. Unpublished is the time at which the latter changed. Edited is the time at which somebody
	// last wrote or deleted an object that a controller manages. SliceDeleted is the time at which a slice of the
	// EndpointSlice controller was last deleted.
	Changed, Unpublished, Edited, SliceDeleted time.Time

	// Lost counts how often an address stopped being ready. ByCause counts the settled losses by cause. Last and
	// LastCause are the time and the cause of the newest settled loss, without the losses of foreign addresses.
	Lost      uint64
	ByCause   [cause.Count]uint32
	Last      time.Time
	LastCause cause.Cause
	// ownLost is the time at which the Service last lost a ready address that is not foreign.
	ownLost time.Time

	// `unreported` holds the unreported losses, sorted by time.
	unreported queue.Queue[*Loss]
	// `outage` is the last loss that began an outage, or nil if this loss has been reported. outageCause is the
	// reported cause of the current outage.
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
	l.version, l.edited = q.watches.Version(), ledger.Edited.Equal(l.Change.Time)
	q.fresh.Push(l)
	id := l.Change.ID
	l.older = q.byAddress[id]
	q.byAddress[id] = l
	ledger.unreported.Push(l)
}

// Position returns the current end of the queue of losses. SettleCertainFrom and OutageBegan use it to find the losses
// that were added afterwards.
func (q *Losses) Position() int { return q.fresh.End() }

// forget removes a reported loss.
func (q *Losses) forget(l *Loss) {
	id := l.Change.ID
	newest := q.byAddress[id]
	if newest == l {
		if l.older == nil {
			delete(q.byAddress, id)
		} else {
			q.byAddress[id] = l.older
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

// goneWithin is the maximum time between the loss of a Service's own addresses and the removal of its foreign
// addresses. A removal within this time does not count as the cause of an outage (transition.AddressLost, Foreign).
const goneWithin = 2 * time.Minute

// OutageBegan records that the last loss of an event began an outage. The outage has the same cause as this loss.
// `position` is the value of Position before the event. If the removed foreign addresses outlasted the Service's own
// addresses by more than goneWithin, they no longer count as foreign.
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
	if last := made[len(made)-1]; last.Service == s && !last.beganOutage {
		last.beganOutage, ledger.outage = true, last
	}
}

// OutageEnded reports the end of an outage once its cause is known.
func (q *Losses) OutageEnded(s Service, change transition.OutageEnded) {
	ledger := s.Ledger()
	if ledger.outage != nil && ledger.outage.outageEnd == nil {
		ledger.outage.outageEnd = &change
		return
	}
	change.Cause = ledger.outageCause
	q.Report(s, change)
}

// settle sets the cause of a loss. It then reports the Service's settled losses in order of time. A settled loss waits
// for older losses, so all instances of kubeflap report the losses in the same order.
func (q *Losses) settle(l *Loss, why cause.Cause) {
	ledger := l.Service.Ledger()
	l.settled = true
	ledger.ByCause[why]++
	l.Change.Vanished = why == cause.Unknown && l.Vanished
	if l.Change.Foreign = l.Change.Foreign && (why == cause.ManualWrite || l.Change.Vanished); !l.Change.Foreign {
		ledger.noteLast(l.Change.Time, why)
	}
	l.Change.Cause, l.Change.Steady = why, why == cause.ManualWrite && l.Manual && l.Service.HasSteadyWriter()
	l.Change.Managed = why == cause.Unknown && l.Known
	if pod := q.pods.Named(l.Change.ID); pod.Name != "" {
		l.Change.Pod = pod
	}
	if why == cause.PodEvicted || why == cause.PodDeleted || l.Change.Vanished {
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
	if l.beganOutage {
		// An outage is reported only after its cause is known. It is not reported if the Service was deleted in the
		// meantime.
		q.Report(s, transition.OutageStarted{At: l.Change.At, Service: s.Named(), Cause: l.Change.Cause, Trigger: l.Change.Trigger})
	}
	for _, change := range l.after {
		q.Report(s, change)
	}
	if !l.beganOutage {
		return
	}
	ledger := s.Ledger()
	if ledger.outage == l {
		ledger.outage = nil
	}
	if l.outageEnd == nil {
		ledger.outageCause = l.Change.Cause
		return
	}
	l.outageEnd.Cause = l.Change.Cause
	q.Report(s, *l.outageEnd)
}

// ReportOf reports a change of an address. If a loss of the address has not been reported yet, the change is reported
// after this loss. Otherwise the address would seem to become ready before it was lost.
func (q *Losses) ReportOf(s Service, address event.UID, change transition.Transition) {
	for l := q.byAddress[address]; l != nil; l = l.older {
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
// order. For losses at the same time, the order of the calls does not affect the result.
func (g *Ledger) noteLast(t time.Time, why cause.Cause) {
	switch {
	case t.Before(g.Last):
	case t.Equal(g.Last) && g.LastCause != cause.Unknown && (why == cause.Unknown || why > g.LastCause):
	default:
		g.Last, g.LastCause = t, why
	}
}
