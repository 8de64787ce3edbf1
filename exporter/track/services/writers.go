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
	// unproven means Endpoints that a Kubernetes controller or an unidentified writer manages.
	unproven keeper = iota
	// controller means a slice of the EndpointSlice controller. mirror means a slice that mirrors Endpoints.
	controller
	mirror
	// knownManager means a manager that the user configured, or that event.IsSliceManager recognizes.
	knownManager
	// foreigner means any other writer.
	foreigner
)

const (
	sliceController     = "endpointslice-controller.k8s.io"
	mirroringController = "endpointslicemirroring-controller.k8s.io"
)

// source is a slice or an Endpoints object that contains addresses of one Service.
type source struct {
	kind event.Kind
	uid  event.UID
	// service is nil if the Service does not exist. name is its name.
	service *service
	name    transition.Service
	// `owner` is the UID of the Service in the object's owner reference, or zero.
	owner  event.UID
	keeper keeper
	// truncated is set if the last version of the object omitted addresses. seen is set if the object has been seen since the
	// last list began. overwritten is set for Endpoints that have been empty since they were first seen, although somebody had
	// applied addresses to them. It is unset as `cleared` is.
	truncated, seen, overwritten bool
	// `entries` holds the distinct addresses, in the order of the object.
	entries []address
	// `writer` is a hash of the field manager that first wrote the addresses. If the controller manager writes the addresses
	// later, `writer` becomes a hash of its name. strayed is the time of the last write by somebody else, or 0.
	writer  uint64
	strayed event.Moment
	// `manual` counts the addresses without a targetRef, and `managed` counts the addresses with a targetRef. Only
	// controllers write a targetRef.
	manual, managed int32
	// relisted is the value of `manual` when the Service's relist began.
	relisted int32
	// appeared is the resourceVersion at which manually managed addresses appeared in Endpoints.
	appeared string
	// `own` contains the addresses that were in the Endpoints object before a foreign writer changed it. The value is
	// true if the address was ready. `own` is nil if the writer is not foreign.
	own map[event.UID]bool
	// notices holds the records of foreign and withdrawn addresses, or nil.
	notices [2]*notice
}

// Kinds of notices. Foreign addresses are those that a foreign writer wrote. Withdrawn addresses are those that the controller
// wrote as ready to Endpoints and that are not ready now, because of a foreign writer. The controller restores them only when a
// pod or the Service changes (see syncService in pkg/controller/endpoint). Both count only if the Service has a selector.
const (
	foreign = iota
	withdrawn
)

// notice is a record of addresses, which are reported while there are any.
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

// object describes the object with its manager. If the slice has no label, it describes the field manager that wrote
// the object.
func (w *written) object() string {
	name := "Endpoints " + w.Name
	if w.kind == event.KindEndpointSlice {
		name = "EndpointSlice " + w.Name
	}
	switch {
	case w.manager != "":
		return name + " (managed by " + w.manager + ")"
	case w.writer != "":
		return name + " (written by " + w.writer + ")"
	}
	return name
}

// see records the writer of a slice or an Endpoints object. Call it before the addresses are replaced: if a foreign writer
// changes the Endpoints of another writer, kubeflap remembers which addresses were in them. see reports whether somebody
// edited the object: its writer is neither the first one nor the controller manager.
func (q *facts) see(h *source, e event.Event, w *written) (edited bool) {
	h.seen, h.truncated, h.overwritten = true, w.truncated, h.overwritten && w.emptied
	switch is := event.Hash(w.writer); {
	case w.writer != "" && (h.writer == 0 || event.IsControllerManager(w.writer)):
		h.writer = is
	case h.writer != is:
		h.strayed, edited = q.watches.Moment(e.Seen), w.writer != "" && e.Type == event.Modified
	}
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
	return edited
}

// keeperOf returns the kind of an object's writer. The name of the first writer of Endpoints is not checked, because a
// distribution can rename the controller.
func (q *facts) keeperOf(h *source, w *written) keeper {
	manager := w.manager
	if h.kind == event.KindEndpoints {
		manager = w.writer
	}
	switch {
	case manager == sliceController:
		return controller
	case manager == mirroringController:
		return mirror
	case q.isKnown(manager), h.kind == event.KindEndpointSlice && event.IsSliceManager(manager):
		return knownManager
	case h.kind == event.KindEndpoints && (manager == "" || event.IsControllerManager(manager) || h.writer == event.Hash(manager)):
		return unproven
	}
	return foreigner
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

// count counts the addresses of an object, and notes the foreign and the withdrawn ones. Truncated Endpoints omit addresses.
func (h *source) count(w *written) {
	h.manual, h.managed = 0, int32(len(h.entries))
	missing := maps.Clone(h.own)
	maps.DeleteFunc(missing, func(_ event.UID, wasReady bool) bool { return !wasReady || h.truncated })
	added, addedReady := 0, 0
	for i := range h.entries {
		a := &h.entries[i]
		if a.manual {
			h.manual, h.managed = h.manual+1, h.managed-1
		}
		if a.foreign {
			added++
		}
		if a.state == ready {
			delete(missing, a.id)
			if a.foreign {
				addedReady++
			}
		}
	}
	h.notices[foreign] = h.notices[foreign].noted(w, added, addedReady)
	h.notices[withdrawn] = h.notices[withdrawn].noted(w, len(missing), 0)
}

// checkNotices reports when an object gains its first foreign or withdrawn address or loses its last one. It reports no
// addresses unless `counts` is set.
func (q *facts) checkNotices(h *source, t time.Time, counts bool) {
	s := h.service
	for i, n := range h.notices {
		// If the selector matches no pods, manually managed Endpoints are reported as a selector conflict instead.
		is := counts && n != nil && n.count > 0 && (i == withdrawn || h.kind != event.KindEndpoints || !s.inConflict())
		if n == nil || n.reported == is {
			continue
		}
		if n.reported = is; is {
			q.report(s, transition.ForeignAddresses{
				At: at(t), Service: s.name, Object: n.object, Count: n.count, Ready: n.ready, Withdrawn: i == withdrawn, Trigger: transition.Trigger(s.uid, n.version),
			})
		} else {
			q.report(s, transition.ForeignAddressesEnded{At: at(t), Service: s.name, Object: n.object, Withdrawn: i == withdrawn})
		}
	}
}

// foreignAddresses returns the number of distinct foreign addresses of a Service. It returns 0 for a Service without a
// selector, because no Kubernetes controller writes the addresses of such a Service.
func (s *service) foreignAddresses() int {
	var all []address
	for _, h := range s.sources {
		if h.notices[foreign] != nil && s.hasSelector() {
			all = append(all, slices.DeleteFunc(slices.Clone(h.entries), func(a address) bool { return !a.foreign })...)
		}
	}
	return len(distinct(all))
}

// steadyAfter is the time after a write by somebody else after which an object has one steady writer again. Two writers that
// undo each other's changes are not steady.
const steadyAfter = 10 * time.Minute

// hasSteadyWriter reports whether a Service has no selector, and each object has had one writer lately. It returns false if
// there are no objects. Slices that mirror Endpoints do not count, because they contain another object's addresses.
func (q *facts) hasSteadyWriter(s *service) bool {
	own := slices.DeleteFunc(slices.Clone(s.sources), func(h *source) bool { return h.keeper == mirror })
	return len(own) > 0 && !s.hasSelector() && !slices.ContainsFunc(own, func(h *source) bool {
		return h.strayed != 0 && q.watches.Now().Sub(q.watches.Time(h.strayed)) < steadyAfter
	})
}
