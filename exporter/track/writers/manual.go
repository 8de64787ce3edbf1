package writers

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// manual is what is known of a Service's manually managed addresses: those without
// a targetRef, which no controller derives from a pod.
type manual struct {
	// endpoints and slices count them in the Endpoints object and in the slices.
	endpoints, slices int
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

// ManualInSlices and ManualInEndpoints count the manually managed addresses.
func (s *Set) ManualInSlices() int { return s.manual.slices }

// ManualInEndpoints counts those in the Endpoints object.
func (s *Set) ManualInEndpoints() int { return s.manual.endpoints }

// Change is what an event does to a Service.
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
	s := c.Service.Writers()
	s.Subtract(h)
	before := *s.manual.in(h.Kind)
	if h.Mirrored && x.watches.IsSynced(event.KindEndpoints) {
		h.manual = 0 // the Endpoints that it mirrors are watched themselves
	} else {
		before += h.manual
		h.manual = written
	}
	h.managed = len(held) - written
	s.Add(h)
	if !c.Quiet && c.Service.Exists() {
		x.compare(c, before, *s.manual.in(h.Kind), h.Kind == event.KindEndpoints || h.Mirrored)
	}
	if s.managed > 0 {
		s.manual.cleared = false
	}
	x.Check(c.Service, c.At)
}

// CompareSlices finds a reset in slices that were listed again. Those of mirrors are counted in Endpoints.
func (x *Writers) CompareSlices(c Change, before int) {
	if c.Service.Exists() {
		x.compare(c, before, c.Service.Writers().manual.slices, false)
	}
	x.Check(c.Service, c.At)
}

// compare finds a reset, or that the removed addresses are there again. Where the selector matches pods it is no
// reset: the controller put right Endpoints that somebody had edited, or somebody deleted a foreign slice.
func (x *Writers) compare(c Change, before, now int, inEndpoints bool) {
	s, selector := c.Service.Writers(), c.Service.HasSelector()
	switch {
	case selector && s.managed > 0:
	case before > 0 && now == 0:
		if selector {
			s.manual.resetsWithSelector++
		} else {
			s.manual.resetsSelectorless++
		}
		s.manual.cleared = selector
		x.losses.Report(c.Service, transition.EndpointsReset{
			At: at(c.At), Service: c.Service.Named(), Count: before, BySelector: selector && inEndpoints,
			Trigger: transition.Trigger(c.Service.UID(), c.Version),
		})
	case before == 0 && now > 0 && s.manual.cleared && selector:
		x.losses.Report(c.Service, transition.EndpointsRewritten{At: at(c.At), Service: c.Service.Named(), Count: now})
	}
}

// in is the count of the addresses in a resource.
func (m *manual) in(k event.Kind) *int {
	if k == event.KindEndpoints {
		return &m.endpoints
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
