package track

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// byHand is what is known of a Service's hand-written addresses: those without
// a targetRef, which no controller derives from a pod.
type byHand struct {
	// endpoints and slices count them in the Endpoints object and in the slices.
	endpoints, slices int
	// ever: the Service has had some. wiped: they were wiped while the Service
	// had a selector, and no pod has matched it since. conflict: it was reported.
	ever, wiped, conflict bool
	// resets counts wipes, by whether the Service had a selector then.
	resets map[bool]uint64
}

// countByHand counts a holder's hand-written addresses anew and finds resets:
// from one or more to none. Endpoints and slices count each for itself, so that Endpoints that
// are emptied and written again before the mirroring controller looks are seen.
func (f *Tracker) countByHand(s shift, h *holder, addresses []event.Address) {
	written := 0
	for i := range addresses {
		if addresses[i].ByHand {
			written++
		}
	}
	if h.kind == event.KindEndpoints && h.byHand == 0 && written > 0 {
		h.version = f.version
	}
	s.service.forgetHolder(h)
	before := s.byHand.of(h.kind)
	if f.onlyMirrors(h) {
		h.byHand = 0
	} else {
		before += h.byHand
		h.byHand = written
	}
	h.managed = len(addresses) - written
	s.service.takeHolder(h)
	if !s.quiet && s.exists {
		f.compareByHand(s, before, s.byHand.of(h.kind), h.kind == event.KindEndpoints || h.mirrored)
	}
	if s.managed > 0 {
		s.byHand.wiped = false
	}
	f.checkConflict(s.service, s.at)
}

// compareByHand finds a reset, or that what was wiped is there again.
func (f *Tracker) compareByHand(s shift, before, now int, inEndpoints bool) {
	switch {
	case before > 0 && now == 0:
		f.reset(s, before, s.selector && inEndpoints)
	case before == 0 && now > 0 && s.byHand.wiped && s.selector && s.managed == 0:
		f.reportOf(s.service, Finding{Time: s.at, Kind: EndpointsRewritten, Count: now})
	}
}

// onlyMirrors reports whether a slice only repeats Endpoints that are watched themselves.
func (f *Tracker) onlyMirrors(h *holder) bool {
	return h.mirrored && f.watches[event.KindEndpoints].synced
}

func (b *byHand) of(k event.Kind) int {
	if k == event.KindEndpoints {
		return b.endpoints
	}
	return b.slices
}

func (s *service) forgetHolder(h *holder) {
	s.managed -= h.managed
	s.addByHand(h.kind, -h.byHand)
}

func (s *service) takeHolder(h *holder) {
	s.managed += h.managed
	s.addByHand(h.kind, h.byHand)
}

func (s *service) addByHand(k event.Kind, n int) {
	if k == event.KindEndpoints {
		s.byHand.endpoints += n
	} else {
		s.byHand.slices += n
	}
	s.byHand.ever = s.byHand.ever || s.byHand.endpoints+s.byHand.slices > 0
}

// reset counts a wipe; byController says that a selector is why.
func (f *Tracker) reset(s shift, count int, byController bool) {
	if s.byHand.resets == nil {
		s.byHand.resets = map[bool]uint64{}
	}
	s.byHand.resets[s.selector]++
	s.byHand.wiped = s.selector && s.managed == 0
	f.reportOf(s.service, Finding{Time: s.at, Kind: EndpointsReset, Count: count, Selector: byController, Trigger: f.trigger(s.service)})
}

// inConflict: the endpoints controller will wipe hand-written Endpoints of a
// Service with a selector at its next sync of it, or has done so (endpoints controller,
// syncService). Hand-made slices it leaves alone.
func (s *service) inConflict() bool {
	return s.selector && (s.byHand.endpoints > 0 || s.byHand.wiped)
}

// triggerOfConflict does not depend on whether the Service or its Endpoints were seen first.
func (s *service) triggerOfConflict() uint64 {
	for _, h := range s.holders {
		if h.kind == event.KindEndpoints {
			return hashTrigger(s.uid, h.version)
		}
	}
	return 0
}

func (f *Tracker) checkConflict(s *service, t time.Time) {
	if !s.selector {
		s.byHand.wiped = false
	}
	conflict := s.exists && s.inConflict()
	switch {
	case conflict && !s.byHand.conflict:
		f.reportOf(s, Finding{Time: t, Kind: SelectorConflict, Count: s.byHand.endpoints, Trigger: s.triggerOfConflict()})
	case !conflict && s.byHand.conflict:
		f.reportOf(s, Finding{Time: t, Kind: SelectorConflictEnded})
	}
	s.byHand.conflict = conflict
}
