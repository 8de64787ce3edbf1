package services

import (
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

// notice is a record of foreign or withdrawn addresses, which are reported while there are any.
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
func (n *notice) noted(w *written, addresses []event.UID, ready int) *notice {
	switch {
	case len(addresses) == 0 && (n == nil || !n.reported):
		return nil
	case n == nil || len(n.addresses) == 0:
		n = &notice{object: w.object(), version: w.ResourceVersion}
	}
	n.addresses, n.ready = addresses, ready
	return n
}

// classify records the kind of an object's writer, and the foreign and the withdrawn addresses. If an unknown writer changes the
// Endpoints of another writer, kubeflap remembers which addresses were in them. The name of the first writer of Endpoints is
// not checked, because a distribution can rename the controller. Withdrawn addresses are those that the controller wrote as
// ready and that are not ready now. The controller restores them only when a pod or the Service changes (see syncService in
// pkg/controller/endpoint). Truncated Endpoints omit addresses.
func (q *facts) classify(h *source, w *written) {
	was := h.keeper
	h.keeper = q.keeperOf(h, w)
	switch {
	case h.kind == event.KindEndpointSlice, h.keeper != foreigner:
		h.own = nil
	case was != foreigner:
		h.own = map[event.UID]bool{}
		for _, a := range h.entries {
			h.own[a.id] = a.state == ready
		}
		if h.foreign != nil {
			for _, id := range h.foreign.addresses {
				delete(h.own, id)
			}
		}
	}
	withdrawn := maps.Clone(h.own)
	maps.DeleteFunc(withdrawn, func(_ event.UID, wasReady bool) bool { return !wasReady || h.truncated })
	var foreign []event.UID
	ready := 0
	for i := range w.addresses {
		a := &w.addresses[i]
		if a.Ready {
			delete(withdrawn, a.UID)
		}
		if h.isForeign(a) {
			foreign = append(foreign, a.UID)
			if a.Ready {
				ready++
			}
		}
	}
	h.foreign = h.foreign.noted(w, foreign, ready)
	h.withdrawn = h.withdrawn.noted(w, slices.Collect(maps.Keys(withdrawn)), 0)
}

// isForeign reports whether an address of an object is foreign. If the manager of a slice is foreign, all its addresses are
// foreign. A known manager writes no foreign addresses. If an unknown writer has changed Endpoints, the addresses that it has
// added or made ready are foreign. In all other cases, the addresses without a targetRef are foreign.
func (h *source) isForeign(a *event.Address) bool {
	wasReady, own := h.own[a.UID]
	switch {
	case h.kind == event.KindEndpointSlice:
		return h.keeper == foreigner
	case h.keeper != foreigner:
		return a.ByHand && h.keeper == unproven
	case own:
		return a.Ready && !wasReady
	}
	return !h.truncated || a.ByHand
}

func (q *facts) keeperOf(h *source, w *written) keeper {
	slice := h.kind == event.KindEndpointSlice
	switch {
	case slice && (h.controlled || h.mirrored):
		return unproven
	case slice && (q.isKnown(w.manager) || event.IsSliceManager(w.manager)), !slice && q.isKnown(w.writer):
		return knownManager
	case slice, w.writer != "" && !event.IsControllerManager(w.writer) && h.writer != event.Hash(w.writer):
		return foreigner
	}
	return unproven
}

// reportedForeign returns the addresses that have been reported as foreign.
func (h *source) reportedForeign() []event.UID {
	if h.foreign != nil && h.foreign.reported {
		return h.foreign.addresses
	}
	return nil
}

// checkNotices reports when an object gains its first foreign or withdrawn address or loses its last one. Only a Service with a
// selector has such addresses.
func (q *facts) checkNotices(s *service, h *source, t time.Time, owned bool) {
	// If the selector matches no pods, manually managed Endpoints are reported as a selector conflict instead.
	q.check(s, h.foreign, false, t, owned && (h.kind != event.KindEndpoints || !s.inConflict()))
	q.check(s, h.withdrawn, true, t, owned)
}

// check reports a notice or its end, if it must be reported. It reports no addresses unless `counts` is set.
func (q *facts) check(s *service, n *notice, withdrawn bool, t time.Time, counts bool) {
	if n == nil || n.reported == (counts && len(n.addresses) > 0) {
		return
	}
	if n.reported = !n.reported; n.reported {
		q.report(s, transition.ForeignAddresses{
			At: at(t), Service: s.name, Object: n.object, Count: len(n.addresses), Ready: n.ready, Withdrawn: withdrawn, Trigger: transition.Trigger(s.uid, n.version),
		})
	} else {
		q.report(s, transition.ForeignAddressesEnded{At: at(t), Service: s.name, Object: n.object, Withdrawn: withdrawn})
	}
}

// foreignAddresses returns the number of distinct foreign addresses of a Service. It returns 0 for a Service without a
// selector, because no Kubernetes controller writes the addresses of such a Service.
func (s *service) foreignAddresses() int {
	if !s.hasSelector() {
		return 0
	}
	var all []event.UID
	for _, h := range s.sources {
		if h.foreign != nil {
			all = append(all, h.foreign.addresses...)
		}
	}
	slices.SortFunc(all, order)
	return len(slices.Compact(all))
}
