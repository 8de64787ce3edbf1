package services

import (
	"maps"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
)

// source is a slice or an Endpoints object that contains addresses of one Service.
type source struct {
	losses.Source
	service *service
	// owner is the UID of the Service in the object's owner reference, or zero.
	owner event.UID
	// `truncated` is set if the last version of the object omitted addresses.
	truncated bool
	// entries contains the addresses, sorted by UID.
	entries []entry
}

// ApplySlice handles an EndpointSlice event.
func (x *Services) ApplySlice(e event.Event, o *event.EndpointSlice) {
	id, k := losses.SourceID{Kind: event.KindEndpointSlice, UID: o.UID}, key{o.Namespace, o.Service}
	if h := x.sources[id]; h != nil && (e.Type == event.Deleted || h.service.key != k) {
		x.drop(e, id) // the slice was deleted, or somebody moved it to another Service or to none
	}
	if e.Type == event.Deleted || o.Service == "" {
		return
	}
	h := x.sources[id]
	switch {
	case h == nil:
		h = x.add(id, x.getOrAdd(k, o.Owner))
		h.owner = o.Owner
	case h.owner != o.Owner:
		h.owner = o.Owner
		if s := x.getOrAdd(k, o.Owner); s != h.service {
			x.move(h, s)
		}
	}
	u := x.newUpdate(h, e)
	x.writers.SeeSlice(h.service, &h.Source, e, o, x.readFrom)
	x.apply(&u, h, o.Addresses, false)
}

// ApplyEndpoints handles an event of an Endpoints object.
func (x *Services) ApplyEndpoints(e event.Event, o *event.Endpoints) {
	id := losses.SourceID{Kind: event.KindEndpoints, UID: o.UID}
	if e.Type == event.Deleted {
		x.drop(e, id)
		return
	}
	h := x.sources[id]
	if h == nil {
		h = x.add(id, x.getOrAdd(key{o.Namespace, o.Name}, event.UID{}))
	}
	u := x.newUpdate(h, e)
	x.writers.SeeEndpoints(h.service, &h.Source, e, o, h.readiness, x.readFrom)
	x.apply(&u, h, o.Addresses, o.Truncated)
}

// readiness returns the addresses of the source. The value is true if the address is ready.
func (h *source) readiness() map[event.UID]bool {
	all := map[event.UID]bool{}
	for _, a := range h.entries {
		all[a.uid] = a.state == ready
	}
	return all
}

// apply replaces the source's addresses with those of an event.
func (x *Services) apply(u *update, h *source, held []event.Address, truncated bool) {
	u.wasTruncated, u.truncated, h.truncated = h.truncated, truncated, truncated
	x.scratch = sorted(held, h.entries, x.scratch)
	if h.Kind == x.readFrom {
		for _, c := range changes(h.entries, x.scratch) {
			var from origin
			if c.is != absent {
				from = originOf(&held[c.index])
			}
			x.change(u, c.uid, from, c.was, c.is)
		}
	}
	h.entries = store(x.scratch, h.entries)
	if !u.relisting {
		x.settle(u)
	}
	x.writers.Count(u.written(), &h.Source, held, u.tally)
	x.losses.SettleCertain(u.lost)
	x.mark(u.service, u.at)
}

func (r *registry) add(id losses.SourceID, s *service) *source {
	h := &source{Source: losses.NewSource(id)}
	r.sources[id] = h
	h.attach(s)
	return h
}

func (h *source) attach(s *service) {
	h.service = s
	s.record.Sources = append(s.record.Sources, &h.Source)
}

// detach removes a source from its Service.
func (r *registry) detach(h *source) {
	s := h.service
	i := slices.Index(s.record.Sources, &h.Source)
	s.record.Sources = slices.Delete(s.record.Sources, i, i+1)
	r.forgetIfGone(s)
}

// move attaches a source to another Service. The move does not count as a change of the source's addresses.
func (x *Services) move(h *source, to *service) {
	from := h.service
	x.writers.NoteLeft(from, &h.Source, x.watches.Now())
	if h.Kind == x.readFrom {
		for _, a := range h.entries {
			moved, _, _ := from.addresses.change(a.uid, origin{}, a.state, absent)
			to.addresses.change(a.uid, moved.origin, absent, a.state)
		}
	}
	x.detach(h)
	h.attach(to)
	x.endOutage(to, x.watches.Now())
	losses.NoteJoined(to, &h.Source)
}

// drop handles the removal of a slice or an Endpoints object. Addresses that are also in other slices stay.
func (x *Services) drop(e event.Event, id losses.SourceID) {
	h := x.sources[id]
	if h == nil {
		return
	}
	delete(x.sources, id)
	u := x.newUpdate(h, e)
	h.SeeDeleted(h.service, e, x.readFrom)
	x.apply(&u, h, nil, false)
	x.writers.NoteLeft(h.service, &h.Source, e.Seen)
	x.detach(h)
}

// ChooseSource selects the source of address states, unless Settings.Source is set. It selects EndpointSlices if they
// can be watched, and Endpoints otherwise. If EndpointSlices have been listed before, it switches to Endpoints only
// when the watch of Endpoints works. Until then, the last known states stay in use.
func (x *Services) ChooseSource() {
	noSlices := x.watches.Missing(event.KindEndpointSlice)
	slicesSynced := x.watches.IsSynced(event.KindEndpointSlice)
	switch {
	case x.settings.Source != 0:
	case !noSlices && slicesSynced:
		x.switchSource(event.KindEndpointSlice)
	case noSlices && (x.watches.Up(event.KindEndpoints) || !slicesSynced):
		x.switchSource(event.KindEndpoints)
	}
}

// switchSource changes the resource from which address states are read. Afterwards, the origin of an address is unknown
// until an event changes the state of the address.
func (x *Services) switchSource(to event.Kind) {
	if x.readFrom == to {
		return
	}
	ids := slices.SortedFunc(maps.Keys(x.sources), func(a, b losses.SourceID) int { return order(a.UID, b.UID) })
	for _, id := range ids {
		if h := x.sources[id]; id.Kind == x.readFrom {
			for _, a := range h.entries {
				h.service.addresses.change(a.uid, origin{}, a.state, absent)
			}
		}
	}
	x.readFrom = to
	for _, id := range ids {
		if h := x.sources[id]; id.Kind == to {
			for _, a := range h.entries {
				h.service.addresses.change(a.uid, origin{}, absent, a.state)
			}
			x.endOutage(h.service, x.watches.Now())
		}
	}
}
