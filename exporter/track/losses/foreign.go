package losses

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// keeper is the kind of writer that manages an object's addresses.
type keeper uint8

const (
	// unproven means a Kubernetes controller or an unidentified writer.
	unproven keeper = iota
	// knownManager means a manager that the user configured, or that event.IsSliceManager recognizes.
	knownManager
	// foreigner means any other writer.
	foreigner
)

// notice is a record of addresses that are reported while there are any.
type notice struct {
	addresses []event.UID
	ready     int
	// object is the name of the object that contains the addresses, with its manager or writer. version is the object's
	// resourceVersion when the addresses were first noted.
	object, version string
	// reported is set if the addresses have been reported.
	reported bool
}

// noted returns the notice with the addresses that an object has now.
func (n *notice) noted(w written, addresses []event.UID, ready int) *notice {
	if n == nil {
		if len(addresses) == 0 {
			return nil
		}
		n = &notice{object: w.object(), version: w.ResourceVersion}
	}
	n.addresses, n.ready = addresses, ready
	return n
}

// turn reports when a state begins or ends.
func (x *Writers) turn(s Service, reported *bool, is bool, begun, ended transition.Transition) {
	switch {
	case is && !*reported:
		x.Report(s, begun)
	case !is && *reported:
		x.Report(s, ended)
	}
	*reported = is
}

// classifySlice records who manages a slice. If the manager is foreign, all addresses in the slice are foreign.
func (x *Writers) classifySlice(h *Source, w written) {
	switch {
	case h.controlled, h.Mirrored:
		h.keeper = unproven
	case x.known[w.manager], event.IsSliceManager(w.manager):
		h.keeper = knownManager
	default:
		h.keeper = foreigner
	}
	h.noteForeign(w, func(*event.Address) bool { return h.keeper == foreigner })
}

// classifyEndpoints records the writer and the foreign addresses of an Endpoints object. A known manager writes no
// foreign addresses. If an unknown writer changes the object of another writer, the addresses that it adds or makes
// ready are foreign. In all other cases, the addresses without a targetRef are foreign. The name of the first writer is
// not checked, because a distribution can rename the controller.
func (x *Writers) classifyEndpoints(h *Source, w written, truncated bool, before func() map[event.UID]bool) {
	was := h.keeper
	h.keeper = unproven
	switch {
	case x.known[w.writer]:
		h.keeper = knownManager
	case w.writer != "" && !event.IsControllerManager(w.writer) && h.writer != event.Hash(w.writer):
		h.keeper = foreigner
	}
	switch {
	case h.keeper != foreigner:
		h.own = nil
	case was != foreigner:
		h.own = before()
		if h.foreign != nil {
			for _, id := range h.foreign.addresses {
				delete(h.own, id)
			}
		}
	}
	h.noteForeign(w, func(a *event.Address) bool {
		ready, own := h.own[a.UID]
		return h.keeper == foreigner && (!own && !truncated || a.Ready && !ready && own || a.ByHand && !own) || a.ByHand && h.keeper == unproven
	})
	h.noteWithdrawn(w, truncated)
}

// noteForeign stores an object's foreign addresses.
func (h *Source) noteForeign(w written, isForeign func(*event.Address) bool) {
	var foreign []event.UID
	ready := 0
	for i := range w.addresses {
		if a := &w.addresses[i]; isForeign(a) {
			foreign = append(foreign, a.UID)
			if a.Ready {
				ready++
			}
		}
	}
	h.foreign = h.foreign.noted(w, foreign, ready)
}

// noteWithdrawn stores the addresses that the controller wrote as ready and that are not ready now. The controller
// restores them only when a pod or the Service changes (see syncService in pkg/controller/endpoint). Truncated
// Endpoints are ignored, because they omit addresses.
func (h *Source) noteWithdrawn(w written, truncated bool) {
	unready := maps.Clone(h.own)
	for i := range w.addresses {
		if w.addresses[i].Ready {
			delete(unready, w.addresses[i].UID)
		}
	}
	var missing []event.UID
	for id, wasReady := range unready {
		if wasReady && !truncated {
			missing = append(missing, id)
		}
	}
	h.withdrawn = h.withdrawn.noted(w, missing, 0)
}

// ReportedForeign returns the addresses that have been reported as foreign.
func (h *Source) ReportedForeign() []event.UID {
	if h.foreign != nil && h.foreign.reported {
		return h.foreign.addresses
	}
	return nil
}

// checkNotices reports when an object of a Service gains its first foreign or withdrawn address or loses its last one.
// Without a selector, no address is foreign.
func (x *Writers) checkNotices(s Service, t time.Time) {
	owned := s.Exists() && s.HasSelector()
	for _, h := range s.Record().Sources {
		// If the selector matches no pods, manually managed Endpoints are reported as a selector conflict instead.
		x.checkForeign(s, h, t, owned && (h.Kind != event.KindEndpoints || !InConflict(s)))
	}
	for _, h := range s.Record().Sources {
		x.checkWithdrawn(s, h, t, owned)
	}
}

func (x *Writers) checkForeign(s Service, h *Source, t time.Time, count bool) {
	if f := h.foreign; f != nil {
		x.turn(s, &f.reported, count && len(f.addresses) > 0, transition.ForeignAddresses{
			At: at(t), Service: s.Named(), Object: f.object, Count: len(f.addresses), Ready: f.ready, Trigger: transition.Trigger(s.UID(), f.version),
		}, transition.ForeignAddressesEnded{At: at(t), Service: s.Named(), Object: f.object})
		if len(f.addresses) == 0 {
			h.foreign = nil
		}
	}
}

func (x *Writers) checkWithdrawn(s Service, h *Source, t time.Time, count bool) {
	if w := h.withdrawn; w != nil {
		x.turn(s, &w.reported, count && len(w.addresses) > 0, transition.AddressesWithdrawn{
			At: at(t), Service: s.Named(), Object: w.object, Count: len(w.addresses), Trigger: transition.Trigger(s.UID(), w.version),
		}, transition.WithdrawnAddressesReturned{At: at(t), Service: s.Named(), Object: w.object})
		if len(w.addresses) == 0 {
			h.withdrawn = nil
		}
	}
}

// NoteLeft records that a source has left its Service.
func (x *Writers) NoteLeft(s Service, h *Source, t time.Time) {
	x.checkForeign(s, h, t, false)
	x.checkWithdrawn(s, h, t, false)
}

// ForeignAddresses returns the number of distinct foreign addresses of a Service. It returns 0 for a Service without a
// selector, because no Kubernetes controller writes the addresses of such a Service.
func ForeignAddresses(s Service) int {
	if !s.HasSelector() {
		return 0
	}
	var all []event.UID
	for _, h := range s.Record().Sources {
		if h.foreign != nil {
			all = append(all, h.foreign.addresses...)
		}
	}
	slices.SortFunc(all, func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
	return len(slices.Compact(all))
}
