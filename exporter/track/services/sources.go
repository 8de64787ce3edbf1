package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// written is one version of a slice or an Endpoints object.
type written struct {
	*event.Meta
	kind    event.Kind
	service string
	owner   event.UID
	// manager is the manager in the slice's label.
	manager, writer string
	// truncated is set if the object omits addresses. emptied is set if it is empty, although a user or an unknown client has
	// written addresses to it.
	truncated, emptied bool
	addresses          []event.Address
}

// ApplySlice handles an EndpointSlice event.
func (x *Services) ApplySlice(e event.Event, o *event.EndpointSlice) {
	x.apply(e, written{Meta: &o.Meta, kind: event.KindEndpointSlice, service: o.Service, owner: o.Owner, manager: o.ManagedBy, writer: o.Writer, addresses: o.Addresses})
}

// ApplyEndpoints handles an event of an Endpoints object.
func (x *Services) ApplyEndpoints(e event.Event, o *event.Endpoints) {
	other := o.OtherWriter != "" && !x.isKnown(o.OtherWriter) && !event.IsControllerManager(o.OtherWriter)
	x.apply(e, written{
		Meta: &o.Meta, kind: event.KindEndpoints, service: o.Name, writer: o.Writer, truncated: o.Truncated,
		emptied: len(o.Addresses) == 0 && (o.LastApplied || other), addresses: o.Addresses,
	})
}

// apply handles an event of a slice or an Endpoints object.
func (x *Services) apply(e event.Event, w written) {
	id, name := sourceID{w.kind, w.UID}, transition.Service{Namespace: w.Namespace, Name: w.service}
	h, gone := x.sources[id], e.Type == event.Deleted || w.service == ""
	if h != nil && (gone || h.service.name != name) {
		x.drop(e, h) // the object was deleted, or somebody moved the slice to another Service or to none
		h = nil
	}
	if gone {
		return
	}
	if h == nil || h.owner != w.owner {
		s := x.getOrAdd(name, w.owner)
		if h == nil {
			h = x.add(id, s)
		} else if s != h.service {
			x.move(h, s)
		}
		h.owner = w.owner
	}
	u := x.newUpdate(h, e)
	x.see(u.service, h, e, w)
	x.replace(&u, h, &w)
}

func (x *Services) replace(u *update, h *source, w *written) {
	for _, c := range u.service.replace(h, w.addresses, x.readFrom) {
		x.countChange(u, c)
	}
	if !u.relisting {
		x.settleUpdate(u)
	}
	x.countManual(u, h, w)
	x.settleCertain(u.lost)
	x.mark(u.service, u.at)
}

func (x *registry) add(id sourceID, s *service) *source {
	h := &source{sourceID: id, overwritten: id.kind == event.KindEndpoints}
	x.sources[id] = h
	h.attach(s)
	return h
}

func (h *source) attach(s *service) {
	h.service = s
	s.sources = append(s.sources, h)
}

// detach removes a source from its Service.
func (x *Services) detach(h *source, t time.Time) {
	s := h.service
	x.checkNotices(s, h, t, false)
	s.sources = slices.DeleteFunc(s.sources, func(x *source) bool { return x == h })
	x.forgetIfGone(s)
}

// move attaches a source to another Service. The move does not count as a change of the source's addresses.
func (x *Services) move(h *source, to *service) {
	from := h.service
	x.detach(h, x.watches.Now())
	h.attach(to)
	from.recount(x.readFrom)
	to.recount(x.readFrom)
	x.recoverIfReady(to)
	to.noteJoined(h)
}

// drop handles the removal of a slice or an Endpoints object. Addresses that are also in other slices stay.
func (x *Services) drop(e event.Event, h *source) {
	delete(x.sources, h.sourceID)
	u := x.newUpdate(h, e)
	x.seeDeleted(u.service, h, e)
	h.truncated = false
	x.replace(&u, h, &written{})
	x.detach(h, e.Seen)
}

// chooseSource selects the source of address states, unless New was told which. It selects EndpointSlices if they
// can be watched, and Endpoints otherwise. If EndpointSlices have been listed before, it switches to Endpoints only
// when the watch of Endpoints works. Until then, the last known states stay in use.
func (x *Services) chooseSource() {
	noSlices := x.watches.Missing(event.KindEndpointSlice)
	slicesSynced := x.watches.IsSynced(event.KindEndpointSlice)
	switch {
	case x.wanted != 0:
	case !noSlices && slicesSynced:
		x.switchSource(event.KindEndpointSlice)
	case noSlices && (x.watches.Up(event.KindEndpoints) || !slicesSynced):
		x.switchSource(event.KindEndpoints)
	}
}

// switchSource changes the resource from which address states are read.
func (x *Services) switchSource(to event.Kind) {
	if x.readFrom == to {
		return
	}
	x.readFrom = to
	for _, s := range x.all {
		s.recount(to)
	}
	for _, s := range x.inOrder() {
		x.recoverIfReady(s)
	}
}

// Known calls a function for each known object of a resource. The value reports whether the object has been seen since the
// last list began.
func (x *Services) Known(kind event.Kind, do func(event.Meta, *bool)) {
	for id, h := range x.sources {
		if id.kind == kind {
			do(event.Meta{UID: id.uid}, &h.seen)
		}
	}
	for _, some := range x.byNamespace {
		for name, w := range some {
			if name.Resource() == kind {
				do(event.Meta{UID: w.uid, Namespace: name.Namespace, Name: name.Name}, &w.seen)
			}
		}
	}
}
