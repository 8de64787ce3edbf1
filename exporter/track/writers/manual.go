package writers

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// manual is what is known of a Service's manually managed addresses: those without
// a targetRef, which no controller derives from a pod.
type manual struct {
	// endpoints counts them in the Endpoints object, slices in the slices that a controller of Kubernetes keeps, others in other slices.
	endpoints, slices, others int
	// ever: the Service has had some. cleared: they were removed while the Service
	// had a selector, and no pod has matched it since. conflict: a conflict was reported.
	ever, cleared, conflict bool
	// resets counts removals of all of them, of Services with a selector and without.
	resetsWithSelector, resetsSelectorless uint64
}

// Manual is what is reported of a Service's manually managed addresses.
type Manual struct {
	// Ever: it has or had some.
	Ever                                   bool
	ResetsWithSelector, ResetsSelectorless uint64
}

// Manual is what is known of the Service's manually managed addresses.
func (s *Set) Manual() Manual {
	return Manual{s.manual.ever, s.manual.resetsWithSelector, s.manual.resetsSelectorless}
}

// ManualInEndpoints counts the manually managed addresses in the Endpoints object.
func (s *Set) ManualInEndpoints() int { return s.manual.endpoints }

// Change describes how an event changes a Service.
type Change struct {
	Service Service
	At      time.Time
	// Version is the resourceVersion of the event's object; empty if it has none.
	Version string
	// Quiet: this is a baseline, so nothing is counted.
	Quiet bool
}

// Count counts a source's manually managed addresses again, and finds resets:
// from one or more to none. Endpoints and slices count separately. So Endpoints are seen that
// are emptied and written again before the mirroring controller looks.
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
		h.manual = 0 // the Endpoints that it mirrors are watched themselves
		before.manual = s.manual.in(h.Kind, selector)
	}
	s.Add(h)
	if !c.Quiet && c.Service.Exists() {
		x.compare(c, before, s.tallyOf(h.Kind, selector), h.Kind == event.KindEndpoints || h.Mirrored)
	}
	if s.managed > 0 {
		s.manual.cleared = false
	}
	x.Check(c.Service, c.At)
}

// CompareSlices finds a reset in slices that were listed again. Those of mirrors are counted in Endpoints.
func (x *Writers) CompareSlices(c Change, before Tally) {
	if c.Service.Exists() {
		x.compare(c, before, c.Service.Writers().tallyOf(event.KindEndpointSlice, c.Service.HasSelector()), false)
	}
	x.Check(c.Service, c.At)
}

// Tally counts the addresses of a Service: those that are managed manually in one resource, and those of pods in both.
type Tally struct{ manual, managed int }

// TallyOfSlices counts a Service's addresses for CompareSlices.
func TallyOfSlices(s Service) Tally {
	return s.Writers().tallyOf(event.KindEndpointSlice, s.HasSelector())
}

func (s *Set) tallyOf(k event.Kind, selector bool) Tally {
	return Tally{s.manual.in(k, selector), s.managed}
}

// compare finds a reset, or that the removed addresses are there again. Where the selector matches pods, or did until now, it is no
// reset: the addresses were foreign, and somebody or a controller put right what somebody had edited.
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

// in is the count of the addresses in a resource. Beside a selector, those in the slices of others than the controllers of Kubernetes do
// not count: they are foreign or a known manager's, and no controller removes them.
func (m *manual) in(k event.Kind, selector bool) int {
	switch {
	case k == event.KindEndpoints:
		return m.endpoints
	case selector:
		return m.slices
	}
	return m.slices + m.others
}

// of is the count that a source's addresses are in.
func (m *manual) of(h *Source) *int {
	switch {
	case h.Kind == event.KindEndpoints:
		return &m.endpoints
	case h.other:
		return &m.others
	}
	return &m.slices
}

// InConflict reports whether the endpoints controller will clear the manually managed Endpoints of a
// Service with a selector that matches no pod when it next syncs the Service, or has done so (endpoints controller,
// syncService). It leaves manually managed slices alone. Beside pods that match, manually managed addresses are foreign.
func InConflict(s Service) bool {
	w := s.Writers()
	return s.HasSelector() && (w.manual.endpoints > 0 && w.managed == 0 || w.manual.cleared)
}

// Check reports what the Service's state begins or ends.
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

// wasOverwritten reports, once, that the Service has a selector that matches no pod, and Endpoints that were overwritten before
// they were first seen.
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

// triggerOfConflict does not depend on whether the Service or its Endpoints were seen first.
func triggerOfConflict(s Service) uint64 {
	for _, h := range s.Writers().sources {
		if h.Kind == event.KindEndpoints {
			return transition.Trigger(s.UID(), h.version)
		}
	}
	return 0
}

func at(t time.Time) transition.At { return transition.At{Time: t} }
