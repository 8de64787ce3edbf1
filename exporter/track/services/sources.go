package services

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// source is a slice or an Endpoints object that contains addresses of one Service.
type source struct {
	losses.Source
	service *service
}

// ApplySlice handles an EndpointSlice event.
func (x *Services) ApplySlice(e event.Event, o *event.EndpointSlice) {
	id, name := losses.SourceID{Kind: event.KindEndpointSlice, UID: o.UID}, transition.Service{Namespace: o.Namespace, Name: o.Service}
	if h := x.sources[id]; h != nil && (e.Type == event.Deleted || h.service.Name != name) {
		x.drop(e, h) // the slice was deleted, or somebody moved it to another Service or to none
	}
	if e.Type == event.Deleted || o.Service == "" {
		return
	}
	h := x.sources[id]
	if h == nil || h.Owner != o.Owner {
		s := x.getOrAdd(name, o.Owner)
		if h == nil {
			h = x.add(id, s)
		} else if s != h.service {
			x.move(h, s)
		}
		h.Owner = o.Owner
	}
	x.apply(e, h, o.Addresses)
}

// Known calls yield for each slice or Endpoints object. The value reports whether the object has been seen since the
// caller last reset it.
func (r *registry) Known(k event.Kind, yield func(event.Meta, *bool) bool) {
	for id, h := range r.sources {
		if id.Kind == k && !yield(event.Meta{UID: id.UID}, &h.Seen) {
			return
		}
	}
}

// ApplyEndpoints handles an event of an Endpoints object.
func (x *Services) ApplyEndpoints(e event.Event, o *event.Endpoints) {
	id := losses.SourceID{Kind: event.KindEndpoints, UID: o.UID}
	h := x.sources[id]
	switch {
	case e.Type != event.Deleted:
		if h == nil {
			h = x.add(id, x.getOrAdd(transition.Service{Namespace: o.Namespace, Name: o.Name}, event.UID{}))
		}
		x.apply(e, h, o.Addresses)
	case h != nil:
		x.drop(e, h)
	}
}

// apply replaces the source's addresses with those of an event.
func (x *Services) apply(e event.Event, h *source, held []event.Address) {
	u := x.newUpdate(h, e)
	x.losses.See(&u.Service, &h.Source, e)
	x.replace(&u, h, held)
}

func (x *Services) replace(u *update, h *source, held []event.Address) {
	for _, c := range u.Replace(&h.Source, held, x.losses.ReadFrom) {
		x.countChange(u, c)
	}
	if !u.relisting {
		x.settle(u)
	}
	x.losses.Count(&u.Service, u.Write, &h.Source, held)
	x.losses.SettleCertain(u.lost)
	x.mark(u.service, u.At)
}

func (r *registry) add(id losses.SourceID, s *service) *source {
	h := &source{Source: losses.NewSource(id)}
	r.sources[id] = h
	h.attach(s)
	return h
}

func (h *source) attach(s *service) {
	h.service = s
	s.Sources = append(s.Sources, &h.Source)
}

// detach removes a source from its Service.
func (x *Services) detach(h *source, t time.Time) {
	s := h.service
	x.losses.NoteLeft(&s.Service, &h.Source, t)
	i := slices.Index(s.Sources, &h.Source)
	s.Sources = slices.Delete(s.Sources, i, i+1)
	x.forgetIfGone(s)
}

// move attaches a source to another Service. The move does not count as a change of the source's addresses.
func (x *Services) move(h *source, to *service) {
	from := h.service
	x.detach(h, x.watches.Now())
	h.attach(to)
	from.Recount(x.losses.ReadFrom)
	to.Recount(x.losses.ReadFrom)
	x.endOutage(to, x.watches.Now())
	to.NoteJoined(&h.Source)
}

// drop handles the removal of a slice or an Endpoints object. Addresses that are also in other slices stay.
func (x *Services) drop(e event.Event, h *source) {
	delete(x.sources, h.SourceID)
	u := x.newUpdate(h, e)
	x.losses.SeeDeleted(&u.Service, &h.Source, e)
	h.Truncated = false
	x.replace(&u, h, nil)
	x.detach(h, e.Seen)
}

// ChooseSource selects the source of address states, unless New was told which. It selects EndpointSlices if they
// can be watched, and Endpoints otherwise. If EndpointSlices have been listed before, it switches to Endpoints only
// when the watch of Endpoints works. Until then, the last known states stay in use.
func (x *Services) ChooseSource() {
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
	if x.losses.ReadFrom == to {
		return
	}
	x.losses.ReadFrom = to
	for _, s := range x.all {
		s.Recount(to)
	}
	for _, h := range slices.SortedFunc(maps.Values(x.sources), func(a, b *source) int { return order(a.UID, b.UID) }) {
		if h.Kind == to {
			x.endOutage(h.service, x.watches.Now())
		}
	}
}

func order(a, b event.UID) int { return bytes.Compare(a[:], b[:]) }
