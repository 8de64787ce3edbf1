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
	// count is the number of addresses, and `ready` the number of those that are ready.
	count, ready int
	// object is the name of the object that contains the addresses, with its manager or writer. version is the object's
	// resourceVersion when the addresses were first noted.
	object, version string
	// reported is set if the addresses have been reported.
	reported bool
}

// noted returns the notice with the number of addresses that an object has now.
func (n *notice) noted(w *written, count, ready int) *notice {
	switch {
	case count == 0 && (n == nil || !n.reported):
		return nil
	case count > 0 && (n == nil || n.count == 0):
		n = &notice{object: w.object(), version: w.ResourceVersion}
	}
	n.count, n.ready = count, ready
	return n
}

// classify records the kind of an object's writer, before the addresses are replaced. If an unknown writer changes the Endpoints
// of another writer, kubeflap remembers which addresses were in them. The name of the first writer of Endpoints is not
// checked, because a distribution can rename the controller.
func (q *facts) classify(h *source, w *written) {
	was := h.keeper
	h.keeper = q.keeperOf(h, w)
	switch {
	case h.kind == event.KindEndpointSlice, h.keeper != foreigner:
		h.own = nil
	case was != foreigner:
		h.own = map[event.UID]bool{}
		for _, a := range h.entries {
			if !a.foreign {
				h.own[a.id] = a.state == ready
			}
		}
	}
}

// count counts the addresses of an object, and notes the foreign and the withdrawn ones. Withdrawn addresses are those that the
// controller wrote as ready and that are not ready now. The controller restores them only when a pod or the Service changes
// (see syncService in pkg/controller/endpoint). Truncated Endpoints omit addresses.
func (h *source) count(w *written) {
	h.manual, h.managed = 0, int32(len(h.entries))
	withdrawn := maps.Clone(h.own)
	maps.DeleteFunc(withdrawn, func(_ event.UID, wasReady bool) bool { return !wasReady || h.truncated })
	foreign, foreignReady := 0, 0
	for i := range h.entries {
		a := &h.entries[i]
		if a.manual {
			h.manual, h.managed = h.manual+1, h.managed-1
		}
		if a.foreign {
			foreign++
		}
		if a.state == ready {
			delete(withdrawn, a.id)
			if a.foreign {
				foreignReady++
			}
		}
	}
	h.foreign, h.withdrawn = h.foreign.noted(w, foreign, foreignReady), h.withdrawn.noted(w, len(withdrawn), 0)
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

// checkNotices reports when an object gains its first foreign or withdrawn address or loses its last one. Only a Service with a
// selector has such addresses.
func (q *facts) checkNotices(s *service, h *source, t time.Time, owned bool) {
	// If the selector matches no pods, manually managed Endpoints are reported as a selector conflict instead.
	q.check(s, h.foreign, false, t, owned && (h.kind != event.KindEndpoints || !s.inConflict()))
	q.check(s, h.withdrawn, true, t, owned)
}

// check reports a notice or its end, if it must be reported. It reports no addresses unless `counts` is set.
func (q *facts) check(s *service, n *notice, withdrawn bool, t time.Time, counts bool) {
	if n == nil || n.reported == (counts && n.count > 0) {
		return
	}
	if n.reported = !n.reported; n.reported {
		q.report(s, transition.ForeignAddresses{
			At: at(t), Service: s.name, Object: n.object, Count: n.count, Ready: n.ready, Withdrawn: withdrawn, Trigger: transition.Trigger(s.uid, n.version),
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
		if h.foreign == nil {
			continue
		}
		for i := range h.entries {
			if h.entries[i].foreign {
				all = append(all, h.entries[i].id)
			}
		}
	}
	slices.SortFunc(all, order)
	return len(slices.Compact(all))
}
