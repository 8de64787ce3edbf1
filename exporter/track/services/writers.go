package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// source is a slice or an Endpoints object that contains addresses of one Service.
type source struct {
	kind event.Kind
	uid  event.UID
	// service is nil if the Service does not exist. name is its name.
	service *service
	name    transition.Service
	// `owner` is the UID of the Service in the object's owner reference, or zero.
	owner event.UID
	// mirrored is set for a slice that mirrors Endpoints. controlled is set for a slice of the EndpointSlice
	// controller. truncated is set if the last version of the object omitted addresses.
	mirrored, controlled, truncated bool
	// seen is set if the object has been seen since the last list began.
	seen bool
	// keeper is the kind of writer.
	keeper keeper
	// overwritten is true for Endpoints that have been empty since they were first seen, although somebody had applied
	// addresses to them.
	overwritten bool
	// `entries` holds the distinct addresses, in the order of the object.
	entries []address
	// `writer` is a hash of the field manager that first wrote the addresses. If the controller manager writes the addresses
	// later, `writer` becomes a hash of its name. strayed is the time of the last write by somebody else, or 0.
	writer  uint64
	strayed event.Moment
	// `manual` counts the addresses without a targetRef, and `managed` counts the addresses with a targetRef. Only
	// controllers write a targetRef.
	manual, managed int32
	// appeared is the resourceVersion at which manually managed addresses appeared in Endpoints.
	appeared string
	// `foreign` is the record of the foreign addresses, or nil. These addresses count as
	// foreign only if the Service has a selector.
	foreign *notice
	// `own` contains the addresses that were in the Endpoints object before a foreign writer changed it. The value is
	// true if the address was ready. `own` is nil if the writer is not foreign.
	own map[event.UID]bool
	// withdrawn is the record of the ready addresses that a foreign writer removed from a controller's Endpoints or set
	// to not ready, or nil.
	withdrawn *notice
}

// steadyAfter is the time after a write by somebody else after which an object has one steady writer again. Two writers that
// undo each other's changes are not steady.
const steadyAfter = 10 * time.Minute

const (
	sliceController     = "endpointslice-controller.k8s.io"
	mirroringController = "endpointslicemirroring-controller.k8s.io"
)

// object describes the object with its manager. If the slice has no label, it describes the field manager that wrote
// the object.
func (w *written) object() string {
	kind := "Endpoints"
	if w.kind == event.KindEndpointSlice {
		kind = "EndpointSlice"
	}
	switch {
	case w.manager != "":
		return kind + " " + w.Name + " (managed by " + w.manager + ")"
	case w.writer != "":
		return kind + " " + w.Name + " (written by " + w.writer + ")"
	}
	return kind + " " + w.Name
}

// see records the controller or the writer of a slice or an Endpoints object. Call it before the addresses are replaced.
func (q *facts) see(h *source, e event.Event, w written) {
	h.seen = true
	h.mirrored, h.controlled, h.truncated = w.manager == mirroringController, w.manager == sliceController, w.truncated
	h.overwritten = h.overwritten && w.emptied
	q.noteWriter(h, e, w.writer)
	q.classify(h, &w)
}

// noteWriter records the writer of an object. If it is neither the first writer nor the controller manager, somebody has
// edited the object. An edit is recorded only if address states are read from this kind of object.
func (q *facts) noteWriter(h *source, e event.Event, writer string) {
	switch is, now := event.Hash(writer), q.watches.Moment(e.Seen); {
	case writer == "":
		h.strayed = now
	case h.writer == 0, event.IsControllerManager(writer):
		h.writer = is
	case h.writer != is:
		h.strayed = now
		if h.service != nil && e.Type == event.Modified && h.kind == q.readFrom {
			h.service.edited = now
		}
	}
}

// seeDeleted records that the object was deleted. It ignores a deletion that kubeflap did not see, and objects of a kind
// from which address states are not read.
func (q *facts) seeDeleted(s *service, h *source, e event.Event) {
	switch {
	case e.Type != event.Deleted || e.IsInferred() || h.kind != q.readFrom:
	case h.controlled:
		s.sliceDeleted = q.watches.Moment(e.Seen)
	case h.keeper != knownManager:
		s.edited = q.watches.Moment(e.Seen)
	}
}

// hasSteadyWriter reports whether a Service has no selector, and each object has had one writer lately. It returns false if
// there are no objects. Slices that mirror Endpoints do not count, because they contain another object's addresses.
func (q *facts) hasSteadyWriter(s *service) bool {
	own := slices.DeleteFunc(slices.Clone(s.sources), func(h *source) bool { return h.mirrored })
	return len(own) > 0 && !s.hasSelector() && !slices.ContainsFunc(own, func(h *source) bool {
		return h.strayed != 0 && q.watches.Now().Sub(q.watches.Time(h.strayed)) < steadyAfter
	})
}
