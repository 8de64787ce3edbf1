package losses

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Write is an event, or a list of EndpointSlices, that changes a Service's addresses.
type Write struct {
	At time.Time
	// Version is the resourceVersion of the event's object, or empty.
	Version string
	// Quiet is set if the changes of the event are not counted. This is the case for the first list of a resource. It
	// is also the case for later lists of EndpointSlices, because CompareSlices compares the whole list.
	Quiet bool
	// Vanished is set if the object, or a slice in a list, was deleted while kubeflap did not watch. The removal of its
	// addresses then does not count as a reset.
	Vanished bool
	// Before counts the addresses before the event.
	Before Tally
}

// Tally counts a Service's addresses. `manual` counts the manually managed addresses in one resource, either Endpoints
// or EndpointSlices. `managed` counts the addresses with a targetRef in both resources.
type Tally struct{ manual, managed int32 }

// Tally counts a Service's addresses. For a Service with a selector, it omits manually managed addresses in slices that
// no Kubernetes controller manages, because no controller removes them.
func (s *Service) Tally(k event.Kind) (n Tally) {
	for _, h := range s.Sources {
		n.managed += h.managed
		if h.Kind == k && (k == event.KindEndpoints || !s.hasSelector() || h.controlled || h.Mirrored) {
			n.manual += h.manual
		}
	}
	return n
}

func (s *Service) hasSelector() bool { return len(s.Selector) > 0 }

// HasPods reports whether the Service has an address of a pod.
func (s *Service) HasPods() bool {
	return slices.ContainsFunc(s.Sources, func(h *Source) bool { return h.managed > 0 })
}

// ManualInEndpoints returns the number of manually managed addresses in the Endpoints object.
func (s *Service) ManualInEndpoints() int { return int(s.Tally(event.KindEndpoints).manual) }

// Count updates the number of manually managed addresses, and reports a reset if none are left. It counts Endpoints and
// slices separately. This way, it also detects Endpoints that are emptied and rewritten before the mirroring controller
// runs.
func (q *Losses) Count(s *Service, w Write, h *Source, held []event.Address) {
	manual := int32(0)
	for i := range held {
		if held[i].ByHand {
			manual++
		}
	}
	if h.Kind == event.KindEndpoints && h.manual == 0 && manual > 0 {
		h.appeared = w.Version
	}
	h.manual, h.managed = manual, int32(len(held))-manual
	if h.Mirrored && q.watches.IsSynced(event.KindEndpoints) {
		h.manual = 0 // these addresses are counted in the Endpoints object
		w.Before.manual = s.Tally(h.Kind).manual
	}
	s.NoteJoined(h)
	q.compare(s, w, h.Kind, h.Kind == event.KindEndpoints || h.Mirrored)
}

// NoteJoined records the addresses of a source that has joined a Service.
func (s *Service) NoteJoined(h *Source) {
	s.cleared = s.cleared && s.Tally(h.Kind).managed == 0
	s.EverManual = s.EverManual || h.manual > 0
}

// CompareSlices detects a reset in a relist of EndpointSlices. If Endpoints have been listed, the tallies omit the
// addresses in slices that mirror them. Such addresses are counted in the Endpoints object.
func (q *Losses) CompareSlices(s *Service, w Write) {
	q.compare(s, w, event.KindEndpointSlice, false)
}

// compare reports a reset, or the return of addresses after a reset. If the selector matches pods now, or matched pods
// before the event, there is no reset. In this case, the removed addresses were foreign addresses.
func (q *Losses) compare(s *Service, w Write, k event.Kind, inEndpoints bool) {
	before, now, selector := w.Before, s.Tally(k), s.hasSelector()
	switch {
	case w.Quiet || w.Vanished || !s.Current || selector && before.managed+now.managed > 0:
	case before.manual > 0 && now.manual == 0:
		if selector {
			s.ResetsWithSelector++
			s.LastReset.WithSelector = w.At
		} else {
			s.ResetsSelectorless++
			s.LastReset.Selectorless = w.At
		}
		s.cleared = selector
		q.Report(s, transition.EndpointsReset{
			At: at(w.At), Service: s.Name, Count: int(before.manual), BySelector: selector && inEndpoints, Trigger: transition.Trigger(s.UID, w.Version),
		})
	case before.manual == 0 && now.manual > 0 && s.cleared && selector:
		q.Report(s, transition.EndpointsRewritten{At: at(w.At), Service: s.Name, Count: int(now.manual)})
	}
	q.Check(s, w.At)
}

// InConflict reports whether a Service has manually managed Endpoints and a selector that matches no pods. The
// endpoints controller has cleared these Endpoints, or will clear them at its next sync (see syncService in
// pkg/controller/endpoint). Manually managed slices cause no conflict, because this controller does not change them. If
// pods match the selector, manually managed addresses count as foreign addresses.
func (s *Service) InConflict() bool {
	n := s.Tally(event.KindEndpoints)
	return s.hasSelector() && (n.manual > 0 && n.managed == 0 || s.cleared)
}

// Check reports when a conflict begins or ends, when foreign addresses appear or disappear, and when addresses are
// withdrawn or return.
func (q *Losses) Check(s *Service, t time.Time) {
	overwritten := s.wasOverwritten()
	s.cleared, s.EverManual = s.cleared && s.hasSelector() || overwritten, s.EverManual || overwritten
	if is := s.Current && s.InConflict(); is != s.conflict {
		s.conflict = is
		if is {
			q.Report(s, transition.SelectorConflict{
				At: at(t), Service: s.Name, Count: s.ManualInEndpoints(), Overwritten: overwritten, Trigger: s.triggerOfConflict(),
			})
		} else {
			q.Report(s, transition.SelectorConflictEnded{At: at(t), Service: s.Name})
		}
	}
	q.checkNotices(s, t)
}

// wasOverwritten reports whether a Service has a selector that matches no pods, and Endpoints that were overwritten
// before kubeflap first saw them. It returns true at most once.
func (s *Service) wasOverwritten() (overwritten bool) {
	if !s.Current {
		return false
	}
	for _, h := range s.Sources {
		overwritten = overwritten || h.overwritten && s.hasSelector() && s.Tally(h.Kind).managed == 0
		h.overwritten = false
	}
	return overwritten
}

// triggerOfConflict returns a value that identifies a conflict. The value does not depend on the order in which the
// Service and its Endpoints were seen.
func (s *Service) triggerOfConflict() uint64 {
	for _, h := range s.Sources {
		if h.Kind == event.KindEndpoints {
			return transition.Trigger(s.UID, h.appeared)
		}
	}
	return 0
}
