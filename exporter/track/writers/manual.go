package writers

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// manual is the count of a Service's manually managed addresses. Such addresses have no targetRef, because no
// controller derived them from a pod.
type manual struct {
	// These fields count the addresses in the Endpoints object, in slices of Kubernetes controllers, and in other
	// slices.
	endpoints, slices, others int
	// `ever` is set if the Service has ever had manually managed addresses. `cleared` is set when all of these
	// addresses are removed while the Service has a selector. It is unset when a pod matches the selector, or when the
	// selector is removed. `conflict` is set while a selector conflict is reported.
	ever, cleared, conflict bool
	// A reset is the removal of all manually managed addresses. resetsWithSelector counts the resets while the Service
	// had a selector, and resetsSelectorless counts the other resets.
	resetsWithSelector, resetsSelectorless uint64
}

// Manual describes a Service's manually managed addresses.
type Manual struct {
	// Ever reports whether the Service has ever had manually managed addresses.
	Ever                                   bool
	ResetsWithSelector, ResetsSelectorless uint64
}

// Manual returns the state of the Service's manually managed addresses.
func (s *Set) Manual() Manual {
	return Manual{s.manual.ever, s.manual.resetsWithSelector, s.manual.resetsSelectorless}
}

// StartCounting sets the numbers of resets to zero.
func (s *Set) StartCounting() { s.manual.resetsWithSelector, s.manual.resetsSelectorless = 0, 0 }

// ManualInEndpoints returns the number of manually managed addresses in the Endpoints object.
func (s *Set) ManualInEndpoints() int { return s.manual.endpoints }

// Change describes an event that changes a Service's addresses.
type Change struct {
	Service Service
	At      time.Time
	// Version is the resourceVersion of the event's object, or empty.
	Version string
	// Quiet is set if the changes of the event are not counted. This is the case for the first list of a resource. It
	// is also the case for later lists of EndpointSlices, because CompareSlices compares the whole list. If an object was
	// deleted while kubeflap did not watch, the removal of its addresses does not count as a reset.
	Quiet bool
}

// Count updates the number of manually managed addresses, and reports a reset if none are left. It counts Endpoints and
// slices separately. This way, it also detects Endpoints that are emptied and rewritten before the mirroring controller
// runs.
func (x *Writers) Count(c Change, h *Source, held []event.Address) {
	written := 0
	for i := range held {
		if held[i].ByHand {
			written++
		}
	}
	if h.Kind == event.KindEndpoints && h.manual == 0 && written > 0 {
		h.version = c.Version
	}
	s, selector := c.Service.Writers(), c.Service.HasSelector()
	before := s.tallyOf(h.Kind, selector)
	s.Subtract(h)
	h.manual, h.managed, h.other = written, len(held)-written, h.Kind == event.KindEndpointSlice && !h.Controlled && !h.Mirrored
	if h.Mirrored && x.watches.IsSynced(event.KindEndpoints) {
		h.manual = 0 // these addresses are counted in the Endpoints object
		before.manual = s.manual.countIn(h.Kind, selector)
	}
	s.Add(h)
	if !c.Quiet && c.Service.Exists() {
		x.compare(c, before, s.tallyOf(h.Kind, selector), h.Kind == event.KindEndpoints || h.Mirrored)
	}
	x.Check(c.Service, c.At)
}

// CompareSlices detects a reset in a relist of EndpointSlices. `before` is the tally from before the relist. If
// Endpoints have been listed, the tally omits the addresses in slices that mirror them. Such addresses are counted in
// the Endpoints object.
func (x *Writers) CompareSlices(c Change, before Tally) {
	if !c.Quiet && c.Service.Exists() {
		x.compare(c, before, c.Service.Writers().tallyOf(event.KindEndpointSlice, c.Service.HasSelector()), false)
	}
	x.Check(c.Service, c.At)
}

// Tally counts a Service's addresses. `manual` counts the manually managed addresses in one resource, either Endpoints
// or EndpointSlices. `managed` counts the addresses with a targetRef in both resources.
type Tally struct{ manual, managed int }

// TallyOfSlices counts a Service's addresses for CompareSlices.
func TallyOfSlices(s Service) Tally {
	return s.Writers().tallyOf(event.KindEndpointSlice, s.HasSelector())
}

func (s *Set) tallyOf(k event.Kind, selector bool) Tally {
	return Tally{s.manual.countIn(k, selector), s.managed}
}

// compare reports a reset, or the return of addresses after a reset. If the selector matches pods now, or matched pods
// before the event, there is no reset. In this case, the removed addresses were foreign addresses.
func (x *Writers) compare(c Change, before, now Tally, inEndpoints bool) {
	s, selector := c.Service.Writers(), c.Service.HasSelector()
	switch {
	case selector && before.managed+now.managed > 0:
	case before.manual > 0 && now.manual == 0:
		if selector {
			s.manual.resetsWithSelector++
		} else {
			s.manual.resetsSelectorless++
		}
		s.manual.cleared = selector
		x.losses.Report(c.Service, transition.EndpointsReset{
			At: at(c.At), Service: c.Service.Named(), Count: before.manual, BySelector: selector && inEndpoints,
			Trigger: transition.Trigger(c.Service.UID(), c.Version),
		})
	case before.manual == 0 && now.manual > 0 && s.manual.cleared && selector:
		x.losses.Report(c.Service, transition.EndpointsRewritten{At: at(c.At), Service: c.Service.Named(), Count: now.manual})
	}
}

// countIn counts the manually managed addresses in a resource. For a Service with a selector, it excludes slices that
// no Kubernetes controller manages, because no controller removes their addresses.
func (m *manual) countIn(k event.Kind, selector bool) int {
	switch {
	case k == event.KindEndpoints:
		return m.endpoints
	case selector:
		return m.slices
	}
	return m.slices + m.others
}

func (m *manual) counterFor(h *Source) *int {
	switch {
	case h.Kind == event.KindEndpoints:
		return &m.endpoints
	case h.other:
		return &m.others
	}
	return &m.slices
}

// InConflict reports whether a Service has manually managed Endpoints and a selector that matches no pods. The
// endpoints controller has cleared these Endpoints, or will clear them at its next sync (see syncService in
// pkg/controller/endpoint). Manually managed slices cause no conflict, because this controller does not change them. If
// pods match the selector, manually managed addresses count as foreign addresses.
func InConflict(s Service) bool {
	w := s.Writers()
	return s.HasSelector() && (w.manual.endpoints > 0 && w.managed == 0 || w.manual.cleared)
}

// Check reports when a conflict begins or ends, when foreign addresses appear or disappear, and when addresses are
// withdrawn or return.
func (x *Writers) Check(s Service, t time.Time) {
	m := &s.Writers().manual
	if !s.HasSelector() {
		m.cleared = false
	}
	overwritten := wasOverwritten(s)
	if overwritten {
		m.cleared, m.ever = true, true
	}
	conflict := s.Exists() && InConflict(s)
	switch {
	case conflict && !m.conflict:
		x.losses.Report(s, transition.SelectorConflict{
			At: at(t), Service: s.Named(), Count: m.endpoints, Overwritten: overwritten, Trigger: triggerOfConflict(s),
		})
	case !conflict && m.conflict:
		x.losses.Report(s, transition.SelectorConflictEnded{At: at(t), Service: s.Named()})
	}
	m.conflict = conflict
	x.checkForeign(s, t)
	x.checkWithdrawn(s, t)
}

// wasOverwritten reports whether a Service has a selector that matches no pods, and Endpoints that were overwritten
// before kubeflap first saw them. It returns true at most once.
func wasOverwritten(s Service) (overwritten bool) {
	if !s.Exists() {
		return false
	}
	w := s.Writers()
	for _, h := range w.sources {
		overwritten = overwritten || h.overwritten && s.HasSelector() && w.managed == 0
		h.overwritten = false
	}
	return overwritten
}

// triggerOfConflict returns a value that identifies a conflict. The value does not depend on the order in which the
// Service and its Endpoints were seen.
func triggerOfConflict(s Service) uint64 {
	for _, h := range s.Writers().sources {
		if h.Kind == event.KindEndpoints {
			return transition.Trigger(s.UID(), h.version)
		}
	}
	return 0
}

func at(t time.Time) transition.At { return transition.At{Time: t} }
