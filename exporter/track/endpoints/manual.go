package endpoints

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
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

// manuals finds resets and selector conflicts.
type manuals struct {
	watches *watches.Watches
	losses  *losses.Losses
}

// count counts a source's manually managed addresses again, and finds resets:
// from one or more to none. Endpoints and slices count separately. So Endpoints are seen that
// are emptied and written again before the mirroring controller looks.
func (x manuals) count(s shift, h *source, held []event.Address) {
	written := 0
	for i := range held {
		if held[i].ByHand {
			written++
		}
	}
	if h.kind == event.KindEndpoints && h.manual == 0 && written > 0 {
		h.version = s.version
	}
	s.subtract(h)
	before := *s.manual.in(h.kind)
	if h.mirrored && x.watches.IsSynced(event.KindEndpoints) {
		h.manual = 0 // the Endpoints that it mirrors are watched themselves
	} else {
		before += h.manual
		h.manual = written
	}
	h.managed = len(held) - written
	s.service.add(h)
	if !s.quiet && s.exists {
		x.compare(s, before, *s.manual.in(h.kind), h.kind == event.KindEndpoints || h.mirrored)
	}
	if s.managed > 0 {
		s.manual.cleared = false
	}
	x.checkConflict(s.service, s.at)
}

// compare finds a reset, or that the removed addresses are there again.
func (x manuals) compare(s shift, before, now int, inEndpoints bool) {
	switch {
	case before > 0 && now == 0:
		if s.selector {
			s.manual.resetsWithSelector++
		} else {
			s.manual.resetsSelectorless++
		}
		s.manual.cleared = s.selector && s.managed == 0
		x.losses.Report(s.service, transition.EndpointsReset{
			At: at(s.at), Service: s.Named(), Count: before, BySelector: s.selector && inEndpoints, Trigger: transition.Trigger(s.uid, s.version),
		})
	case before == 0 && now > 0 && s.manual.cleared && s.selector && s.managed == 0:
		x.losses.Report(s.service, transition.EndpointsRewritten{At: at(s.at), Service: s.Named(), Count: now})
	}
}

// in is the count of the addresses in a resource.
func (m *manual) in(k event.Kind) *int {
	if k == event.KindEndpoints {
		return &m.endpoints
	}
	return &m.slices
}

// subtract takes a source's addresses out of the Service's counts; add puts them in.
func (s *service) subtract(h *source) {
	s.managed -= h.managed
	*s.manual.in(h.kind) -= h.manual
}

func (s *service) add(h *source) {
	s.managed += h.managed
	*s.manual.in(h.kind) += h.manual
	s.manual.ever = s.manual.ever || s.manual.endpoints+s.manual.slices > 0
}

// inConflict: the endpoints controller will clear the manually managed Endpoints of a
// Service with a selector when it next syncs the Service, or has done so (endpoints controller,
// syncService). It leaves manually managed slices alone.
func (s *service) inConflict() bool {
	return s.selector && (s.manual.endpoints > 0 || s.manual.cleared)
}

func (x manuals) checkConflict(s *service, t time.Time) {
	if !s.selector {
		s.manual.cleared = false
	}
	overwritten := s.wasOverwritten()
	if overwritten {
		s.manual.cleared, s.manual.ever = true, true
	}
	conflict := s.exists && s.inConflict()
	switch {
	case conflict && !s.manual.conflict:
		x.losses.Report(s, transition.SelectorConflict{
			At: at(t), Service: s.Named(), Count: s.manual.endpoints, Overwritten: overwritten, Trigger: s.triggerOfConflict(),
		})
	case !conflict && s.manual.conflict:
		x.losses.Report(s, transition.SelectorConflictEnded{At: at(t), Service: s.Named()})
	}
	s.manual.conflict = conflict
}

// wasOverwritten reports, once, that the Service has a selector that matches no pod, and Endpoints that were overwritten before
// they were first seen.
func (s *service) wasOverwritten() (overwritten bool) {
	if !s.exists {
		return false
	}
	for _, h := range s.sources {
		overwritten = overwritten || h.overwritten && s.selector && s.managed == 0
		h.overwritten = false
	}
	return overwritten
}

// triggerOfConflict does not depend on whether the Service or its Endpoints were seen first.
func (s *service) triggerOfConflict() uint64 {
	for _, h := range s.sources {
		if h.kind == event.KindEndpoints {
			return transition.Trigger(s.uid, h.version)
		}
	}
	return 0
}
