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
	name, h := transition.Service{Namespace: w.Namespace, Name: w.service}, x.sources[w.UID]
	gone := e.Type == event.Deleted || w.service == ""
	if h != nil && (gone || h.name != name) {
		x.drop(e, h) // the object was deleted, or somebody moved the slice to another Service or to none
		h = nil
	}
	if gone {
		return
	}
	if h == nil {
		h = &source{kind: w.kind, uid: w.UID, name: name, overwritten: w.kind == event.KindEndpoints}
		x.sources[w.UID] = h
	}
	h.owner = w.owner
	x.place(h)
	if h.service == nil {
		x.see(h, e, &w)
		h.replace(w.addresses, x.readFrom)
		h.count(&w)
		return
	}
	u := x.newUpdate(h, e)
	u.edited = x.see(h, e, &w)
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
	x.settleAny(u.lost, false)
	x.mark(u.service, u.at)
}

// place attaches a source to its Service, or puts it among those that wait for one. If a slice has an owner, the name of the
// Service does not suffice: a deleted Service and its successor with the same name can both have slices for a while. This
// does not count as a change of addresses.
func (x *Services) place(h *source) {
	to, from := x.all[h.name], h.service
	if to != nil && !h.owner.IsZero() && h.owner != to.uid {
		to = nil
	}
	if to != nil && to == from || to == nil && slices.Contains(x.waiting[h.name], h) {
		return
	}
	x.detach(h, x.watches.Now())
	if h.service = to; to != nil {
		to.sources = append(to.sources, h)
		x.mark(to, x.watches.Now())
	} else {
		x.waiting[h.name] = append(x.waiting[h.name], h)
	}
	for _, s := range []*service{from, to} {
		if s != nil && h.kind == x.readFrom && len(h.entries) > 0 {
			s.recount(x.readFrom)
			x.recoverIfReady(s)
		}
	}
}

func (x *Services) placeAll(some []*source) {
	for _, h := range slices.Clone(some) {
		x.place(h)
	}
}

// detach removes a source from its Service, or from those that wait for one.
func (x *Services) detach(h *source, t time.Time) {
	is := func(x *source) bool { return x == h }
	if s := h.service; s != nil {
		x.checkNotices(h, t, false)
		s.sources = slices.DeleteFunc(s.sources, is)
	} else if x.waiting[h.name] = slices.DeleteFunc(x.waiting[h.name], is); len(x.waiting[h.name]) == 0 {
		delete(x.waiting, h.name)
	}
}

// drop handles the removal of a slice or an Endpoints object. Addresses that are also in other slices stay.
func (x *Services) drop(e event.Event, h *source) {
	delete(x.sources, h.uid)
	if h.service != nil {
		u := x.newUpdate(h, e)
		u.deleted = e.Type == event.Deleted && !e.IsInferred()
		u.edited = u.deleted && (h.keeper == unproven || h.keeper == foreigner)
		h.truncated = false
		x.replace(&u, h, &written{})
	}
	x.detach(h, e.Seen)
}

// chooseSource selects the source of address states, unless New was told which. It selects EndpointSlices if they
// can be watched, and Endpoints otherwise. If EndpointSlices have been listed before, it switches to Endpoints only
// when the watch of Endpoints works. Until then, the last known states stay in use.
func (x *Services) chooseSource() {
	to, isListed := x.readFrom, x.watches.IsSynced(event.KindEndpointSlice)
	if noSlices := x.watches.Missing(event.KindEndpointSlice); !noSlices && isListed {
		to = event.KindEndpointSlice
	} else if noSlices && (x.watches.Up(event.KindEndpoints) || !isListed) {
		to = event.KindEndpoints
	}
	if x.wanted != 0 || to == x.readFrom {
		return
	}
	x.readFrom = to
	for _, s := range x.inOrder() {
		s.recount(to)
		x.recoverIfReady(s)
	}
}

// Known calls a function for each known object of a resource. The value reports whether the object has been seen since the
// last list began.
func (x *Services) Known(kind event.Kind, do func(event.Meta, *bool)) {
	for id, h := range x.sources {
		if h.kind == kind {
			do(event.Meta{UID: id}, &h.seen)
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
