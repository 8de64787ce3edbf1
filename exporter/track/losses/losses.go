// Package losses determines why Services lose ready addresses, and reports each loss and each outage once its cause is
// known. It also tracks who writes the addresses: a Kubernetes controller, another known manager, a user who manages
// addresses manually, or an unknown client.
package losses

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/classes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// nodeFacts lists the methods of package nodes that this package calls.
type nodeFacts interface {
	Trigger(node string, why cause.Cause) (trigger uint64, ok bool)
	// Announced describes the departure announcement that was in effect at t, such as a taint or a cordon. It returns
	// an empty string if there was none.
	Announced(node string, t time.Time) string
	// AnnouncedEviction is like Announced, for a pod that was evicted through the Eviction API at t.
	AnnouncedEviction(node string, t time.Time) string
}

// Service is a Service with its losses, the writers of its addresses, and the facts that explain the losses.
type Service struct {
	classes.Service
	// UID is zero if it is unknown. An Endpoints object contains only the name of its Service.
	UID event.UID
	// Current is set if the Service has been seen and has not been deleted.
	Current bool
	// Sources holds the slices and Endpoints that contain the Service's addresses. Count is the number of addresses in
	// each state.
	Sources []*Source
	Count   [numStates]int32
	// Changed is the time at which the Service's selection of pods last changed, by its selector or by
	// publishNotReadyAddresses. Unpublished is the time at which the latter changed.
	Changed, Unpublished event.Moment
	// SelectorBefore is the selector before its last change. `relabelled` holds the pods whose labels the selector no longer
	// matches, because they were changed.
	SelectorBefore pods.Selector
	relabelled     map[event.UID]relabelled
	// edited is the time at which somebody last wrote or deleted an object that a controller manages. sliceDeleted is
	// the time at which a slice of the EndpointSlice controller was last deleted.
	edited, sliceDeleted event.Moment

	Causes
	LastReset Reset
	// Last and LastCause are the time and the cause of the newest settled loss, without the losses of foreign addresses.
	Last      time.Time
	LastCause cause.Cause
	// ownLost is the time at which the Service last lost a ready address that is not foreign.
	ownLost event.Moment
	// `replaced` holds the newest losses because of pods that were replaced, oldest first.
	replaced []replacement
	// `unreported` holds the unreported losses, sorted by time.
	unreported []*Loss

	// EverManual is set if the Service has ever had manually managed addresses.
	EverManual bool
	// `cleared` is set when all manually managed addresses are removed while the Service has a selector. It is unset
	// when a pod matches the selector, or when the selector is removed. `conflict` is set while a selector conflict is
	// reported.
	cleared, conflict bool
}

// Causes holds the counters of a Service's losses by cause, and of its resets.
type Causes struct {
	// Losses counts the losses with a determined cause.
	Losses [cause.Count]uint32
	// A reset is the removal of all manually managed addresses. ResetsWithSelector counts the resets while the Service
	// had a selector, and ResetsSelectorless counts the other resets.
	ResetsWithSelector, ResetsSelectorless uint64
}

// Reset holds the times of the last resets, while the Service had a selector and while it had none.
type Reset struct{ WithSelector, Selectorless time.Time }

// Loss records that an address stopped being ready. It is kept until it has been reported with its cause.
type Loss struct {
	classes.Loss
	Service *Service
	// Source is the object in which the address stopped being ready, or nil if the loss was found in a list.
	Source *Source
	// Manual is set if the address had no targetRef. InEndpoints is set if the address was in Endpoints, or in a slice
	// that mirrors Endpoints. Terminating is set if the address's pod is being deleted.
	Manual, InEndpoints, Terminating bool
	// Of is the number of the Service's ready addresses before the loss.
	Of int
	// Vanished is set if the object with the address, or its pod, was deleted while kubeflap did not watch.
	Vanished bool

	// foreign is set if the Service has a selector and an unknown writer manages the source. known is set if a known
	// manager manages the source. edited is set if somebody made this write to an object that a controller manages.
	foreign, known, edited bool
	// version is the resourceVersion of the write that made the loss, or 0 if it is unknown.
	version uint64
	// `began` is the outage that began with this loss, or nil. If an event made several losses, it is set for the last one.
	began *classes.Outage
	// `after` holds later changes of the address. They are reported after the loss.
	after []transition.Transition
}

// Losses holds the losses that have not been reported. It also detects resets, selector conflicts, and foreign or
// withdrawn addresses.
type Losses struct {
	explainer

	found *transition.List
	nodes nodeFacts
	// `known` holds the managers that the operator configured.
	known []string

	// `fresh` holds the losses that are younger than evidenceWait, sorted by time. `lagging` holds older losses that
	// wait for evidence from a lagging watch. A settled loss stays in its queue until its waiting time has passed.
	fresh, lagging []*Loss
	// byAddress holds the unreported losses of each address, oldest first.
	byAddress map[event.UID][]*Loss
}

// New returns an empty Losses that trusts the given managers and the managers that event.IsSliceManager recognizes.
func New(watches *watches.Watches, found *transition.List, pods *pods.Pods, nodes nodeFacts, classes *classes.Classes, known []string) *Losses {
	return &Losses{explainer: explainer{watches, pods, classes}, found: found, nodes: nodes, known: known, byAddress: map[event.UID][]*Loss{}}
}

// Add starts the search for its cause.
func (q *Losses) Add(l *Loss) {
	s := l.Service
	if !l.Change.Foreign {
		s.ownLost = q.watches.Moment(l.Change.Time)
	}
	if l.Source != nil {
		l.foreign, l.known = l.Source.keeper == foreigner && s.hasSelector(), l.Source.keeper == knownManager
	}
	l.version, l.edited = q.watches.Version(), s.edited == q.watches.Moment(l.Change.Time)
	q.fresh = append(q.fresh, l)
	q.byAddress[l.Change.ID] = append(q.byAddress[l.Change.ID], l)
	s.unreported = append(s.unreported, l)
}

// settle sets the cause of a loss. It then reports the Service's settled losses in order of time. A settled loss waits
// for older losses, so all instances of kubeflap report the losses in the same order.
func (q *Losses) settle(l *Loss, why cause.Cause) {
	s, c := l.Service, &l.Change
	l.Settled = true
	s.Losses[why]++
	c.Vanished = why == cause.Unknown && l.Vanished
	if c.Foreign = c.Foreign && (why == cause.ManualWrite || c.Vanished); !c.Foreign {
		s.noteLast(c.Time, why)
	}
	c.Cause, c.Steady = why, why == cause.ManualWrite && l.Manual && s.hasSteadyWriter()
	c.Managed = why == cause.Unknown && l.known
	if pod := q.pods.Named(c.ID); pod.Name != "" {
		c.Pod = pod
	}
	p, _ := q.pods.Recall(c.ID)
	if p != nil {
		c.Why = p.Why(why, l.version, c.Time)
	}
	switch text, ok := l.relabelling(); {
	case why == cause.ServiceChanged && ok && !q.changedAround(l):
		c.Relabelled, c.Why = true, text
	case why == cause.PodEvicted && p != nil && p.EvictedByAPI():
		c.Announced = q.nodes.AnnouncedEviction(c.Pod.Node, c.Time)
	case why == cause.PodEvicted, why == cause.PodDeleted, c.Vanished:
		c.Announced = q.nodes.Announced(c.Pod.Node, c.Time)
	}
	if why.OfNode() {
		if trigger, ok := q.nodes.Trigger(c.Pod.Node, why); ok {
			c.Trigger = trigger
		}
	}
	q.Decide(&l.Loss)
	for len(s.unreported) > 0 && s.unreported[0].Settled {
		q.reportLoss(watches.Take(&s.unreported))
	}
}

// reportLoss reports a loss, the outage that began with it, and later changes of the address.
func (q *Losses) reportLoss(l *Loss) {
	s, id := l.Service, l.Change.ID
	i := slices.Index(q.byAddress[id], l)
	if q.byAddress[id] = slices.Delete(q.byAddress[id], i, i+1); len(q.byAddress[id]) == 0 {
		delete(q.byAddress, id)
	}
	l.Change.Waited = q.watches.Now().Sub(l.Change.Time)
	q.Report(s, l.Change)
	q.noteReplaced(l)
	if l.began != nil {
		// An outage is reported only after its cause is known. It is not reported if the Service was deleted in the
		// meantime.
		q.Report(s, transition.OutageStarted{At: l.Change.At, Service: s.Name, Cause: l.Change.Cause, Trigger: l.Change.Trigger, Class: l.began.Class})
	}
	for _, change := range l.after {
		q.Report(s, change)
	}
	if o := l.began; o != nil {
		o.Undecided, o.Cause = false, l.Change.Cause
		if o.Ended != nil {
			o.Ended.Cause, o.Ended.Class = o.Cause, o.Class
			q.Report(s, *o.Ended)
		}
	}
}

// ReportOf reports a change of an address. If a loss of the address has not been reported yet, the change is reported
// after this loss. Otherwise the address would seem to become ready before it was lost.
func (q *Losses) ReportOf(s *Service, address event.UID, change transition.Transition) {
	for _, l := range slices.Backward(q.byAddress[address]) {
		if l.Service == s {
			l.after = append(l.after, change)
			return
		}
	}
	q.Report(s, change)
}

// Report reports a change of a Service, unless the Service does not exist.
func (q *Losses) Report(s *Service, change transition.Transition) {
	if s.Current {
		q.found.Add(change)
	}
}

// noteLast stores the time and cause of the newest loss. It compares the times, because losses can be settled in any
// order. For losses at the same time, the order of the calls does not affect the result.
func (s *Service) noteLast(t time.Time, why cause.Cause) {
	switch {
	case t.Before(s.Last):
	case t.Equal(s.Last) && s.LastCause != cause.Unknown && (why == cause.Unknown || why > s.LastCause):
	default:
		s.Last, s.LastCause = t, why
	}
}

func at(t time.Time) transition.At { return transition.At{Time: t} }
