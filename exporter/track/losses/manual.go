package losses

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Written describes an event that changes a Service's addresses.
type Written struct {
	Service Service
	At      time.Time
	// Version is the resourceVersion of the event's object, or empty.
	Version string
	// Quiet is set if the changes of the event are not counted. This is the case for the first list of a resource. It
	// is also the case for later lists of EndpointSlices, because CompareSlices compares the whole list. If an object was
	// deleted while kubeflap did not watch, the removal of its addresses does not count as a reset.
	Quiet bool
}

// Tally counts a Service's addresses. `manual` counts the manually managed addresses in one resource, either Endpoints
// or EndpointSlices. `managed` counts the addresses with a targetRef in both resources.
type Tally struct{ manual, managed int }

// TallyOf counts a Service's addresses. For a Service with a selector, it omits manually managed addresses in slices that
// no Kubernetes controller manages, because no controller removes them.
func TallyOf(s Service, k event.Kind) (n Tally) {
	for _, h := range s.Record().Sources {
		n.managed += h.managed
		if h.Kind == k && (k == event.KindEndpoints || !s.HasSelector() || h.controlled || h.Mirrored) {
			n.manual += h.manual
		}
	}
	return n
}

// ManualInEndpoints returns the number of manually managed addresses in the Endpoints object.
func ManualInEndpoints(s Service) int { return TallyOf(s, event.KindEndpoints).manual }

// Count updates the number of manually managed addresses, and reports a reset if none are left. It counts Endpoints and
// slices separately. This way, it also detects Endpoints that are emptied and rewritten before the mirroring controller
// runs. `before` is the tally from before the event.
func (x *Writers) Count(c Written, h *Source, held []event.Address, before Tally) {
	manual := 0
	for i := range held {
		if held[i].ByHand {
			manual++
		}
	}
	if h.Kind == event.KindEndpoints && h.manual == 0 && manual > 0 {
		h.appeared = c.Version
	}
	h.manual, h.managed = manual, len(held)-manual
	if h.Mirrored && x.watches.IsSynced(event.KindEndpoints) {
		h.manual = 0 // these addresses are counted in the Endpoints object
		before.manual = TallyOf(c.Service, h.Kind).manual
	}
	NoteJoined(c.Service, h)
	if !c.Quiet && c.Service.Exists() {
		x.compare(c, before, TallyOf(c.Service, h.Kind), h.Kind == event.KindEndpoints || h.Mirrored)
	}
	x.Check(c.Service, c.At)
}

// NoteJoined records the addresses of a source that has joined a Service.
func NoteJoined(s Service, h *Source) {
	r := s.Record()
	r.cleared = r.cleared && TallyOf(s, h.Kind).managed == 0
	r.EverManual = r.EverManual || h.manual > 0
}

// CompareSlices detects a reset in a relist of EndpointSlices. `before` is the tally from before the relist. If
// Endpoints have been listed, the tally omits the addresses in slices that mirror them. Such addresses are counted in
// the Endpoints object.
func (x *Writers) CompareSlices(c Written, before Tally) {
	if !c.Quiet && c.Service.Exists() {
		x.compare(c, before, TallyOf(c.Service, event.KindEndpointSlice), false)
	}
	x.Check(c.Service, c.At)
}

// compare reports a reset, or the return of addresses after a reset. If the selector matches pods now, or matched pods
// before the event, there is no reset. In this case, the removed addresses were foreign addresses.
func (x *Writers) compare(c Written, before, now Tally, inEndpoints bool) {
	r, selector := c.Service.Record(), c.Service.HasSelector()
	switch {
	case selector && before.managed+now.managed > 0:
	case before.manual > 0 && now.manual == 0:
		if selector {
			r.ResetsWithSelector++
		} else {
			r.ResetsSelectorless++
		}
		r.cleared = selector
		x.Report(c.Service, transition.EndpointsReset{
			At: at(c.At), Service: c.Service.Named(), Count: before.manual, BySelector: selector && inEndpoints,
			Trigger: transition.Trigger(c.Service.UID(), c.Version),
		})
	case before.manual == 0 && now.manual > 0 && r.cleared && selector:
		x.Report(c.Service, transition.EndpointsRewritten{At: at(c.At), Service: c.Service.Named(), Count: now.manual})
	}
}

// InConflict reports whether a Service has manually managed Endpoints and a selector that matches no pods. The
// endpoints controller has cleared these Endpoints, or will clear them at its next sync (see syncService in
// pkg/controller/endpoint). Manually managed slices cause no conflict, because this controller does not change them. If
// pods match the selector, manually managed addresses count as foreign addresses.
func InConflict(s Service) bool {
	if !s.HasSelector() {
		return false
	}
	n := TallyOf(s, event.KindEndpoints)
	return n.manual > 0 && n.managed == 0 || s.Record().cleared
}

// Check reports when a conflict begins or ends, when foreign addresses appear or disappear, and when addresses are
// withdrawn or return.
func (x *Writers) Check(s Service, t time.Time) {
	r := s.Record()
	r.cleared = r.cleared && s.HasSelector()
	overwritten := wasOverwritten(s)
	if overwritten {
		r.cleared, r.EverManual = true, true
	}
	if is := s.Exists() && InConflict(s); is != r.conflict {
		x.turn(s, &r.conflict, is, transition.SelectorConflict{
			At: at(t), Service: s.Named(), Count: ManualInEndpoints(s), Overwritten: overwritten, Trigger: triggerOfConflict(s),
		}, transition.SelectorConflictEnded{At: at(t), Service: s.Named()})
	}
	x.checkNotices(s, t)
}

// wasOverwritten reports whether a Service has a selector that matches no pods, and Endpoints that were overwritten
// before kubeflap first saw them. It returns true at most once.
func wasOverwritten(s Service) (overwritten bool) {
	if !s.Exists() {
		return false
	}
	for _, h := range s.Record().Sources {
		overwritten = overwritten || h.overwritten && s.HasSelector() && TallyOf(s, h.Kind).managed == 0
		h.overwritten = false
	}
	return overwritten
}

// triggerOfConflict returns a value that identifies a conflict. The value does not depend on the order in which the
// Service and its Endpoints were seen.
func triggerOfConflict(s Service) uint64 {
	for _, h := range s.Record().Sources {
		if h.Kind == event.KindEndpoints {
			return transition.Trigger(s.UID(), h.appeared)
		}
	}
	return 0
}
