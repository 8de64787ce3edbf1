package endpoints

import (
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
)

// source is a slice or an Endpoints object that contains addresses of one Service.
type source struct {
	writers.Source
	service *service
	// owner is the UID of the Service in the object's owner reference, or zero.
	owner event.UID
	// `truncated` is set if the last version of the object omitted addresses.
	truncated bool
	// entries contains the addresses in the order of the object. repeated is set if an address occurs more than once.
	entries  []addresses.Entry
	repeated bool
}

// ApplySlice handles an EndpointSlice event.
func (x *Endpoints) ApplySlice(e event.Event, o *event.EndpointSlice) {
	if e.Type == event.Deleted {
		x.drop(e, x.slices, o.UID)
		return
	}
	h := x.slices[o.UID]
	k := key{o.Namespace, o.Service}
	if h != nil && h.service.key != k {
		// Somebody moved the slice to another Service, or to none.
		x.drop(e, x.slices, o.UID)
		h = nil
	}
	switch {
	case o.Service == "":
		return
	case h == nil:
		h = &source{Source: writers.OfSlice(), owner: o.Owner}
		x.slices[o.UID] = h
		attach(h, x.services.getOrAdd(k, o.Owner))
	case h.owner != o.Owner:
		h.owner = o.Owner
		if s := x.services.getOrAdd(k, o.Owner); s != h.service {
			x.move(h, s)
		}
	}
	if x.watches.Relisting(e) {
		x.remember(h.service, e)
	}
	x.writers.SeeSlice(h.service, &h.Source, e, o, x.readFrom)
	x.applyAddresses(h, e, o.Addresses, false)
}

// ApplyEndpoints handles an event of an Endpoints object.
func (x *Endpoints) ApplyEndpoints(e event.Event, o *event.Endpoints) {
	if e.Type == event.Deleted {
		x.drop(e, x.objects, o.UID)
		return
	}
	h := x.objects[o.UID]
	if h == nil {
		h = &source{Source: writers.OfEndpoints()}
		x.objects[o.UID] = h
		attach(h, x.services.getOrAdd(key{o.Namespace, o.Name}, event.UID{}))
	}
	x.writers.SeeEndpoints(h.service, &h.Source, e, o, h.entries, x.readFrom)
	x.applyAddresses(h, e, o.Addresses, o.Truncated)
}

// applyAddresses replaces the source's addresses with those of an event.
func (x *Endpoints) applyAddresses(h *source, e event.Event, held []event.Address, truncated bool) {
	relisting := h.Kind == event.KindEndpointSlice && x.watches.Relisting(e)
	if relisting {
		x.remember(h.service, e)
	}
	s := x.newAddressUpdate(h, e)
	s.quiet = x.watches.First(e) || relisting || x.isBaseline(h.service, h.Kind, e.Seen)
	s.wasTruncated, s.truncated, s.mirrored = h.truncated, truncated, h.Mirrored
	s.vanished = e.IsInferred()
	s.foreign, s.known, s.wereForeign = writers.IsForeign(h.service, &h.Source), h.IsKnown(), h.WereForeign()
	h.truncated = truncated
	if h.sameAddresses(held) {
		x.restate(s, h, held)
	} else {
		x.replace(s, h, held)
	}
	if !relisting {
		x.settle(s)
	}
	x.writers.Count(s.written(), &h.Source, held)
	x.losses.SettleCertainFrom(s.lossesBefore)
	x.divergence.mark(h.service, e.Seen)
}

// sameAddresses reports whether the source already has exactly these addresses in the same order. This is true for most
// events, and the addresses then need no sorting.
func (h *source) sameAddresses(held []event.Address) bool {
	if h.repeated || len(held) != len(h.entries) {
		return false
	}
	for i := range held {
		if held[i].UID != h.entries[i].UID {
			return false
		}
	}
	return true
}

// restate sets new states for the source's addresses.
func (x *Endpoints) restate(s addressUpdate, h *source, held []event.Address) {
	for i := range held {
		entry := &h.entries[i]
		before := entry.State
		entry.State = addresses.StateOf(&held[i])
		if before != entry.State && h.Kind == x.readFrom {
			x.changeState(s, entry.UID, addresses.OriginOf(&held[i]), before, entry.State)
		}
	}
}

// replace sets new addresses for the source.
func (x *Endpoints) replace(s addressUpdate, h *source, held []event.Address) {
	x.scratch.before = addresses.Sorted(h.entries, x.scratch.before)
	h.entries = addresses.Store(h.entries, held)
	x.scratch.after = addresses.Sorted(h.entries, x.scratch.after)
	h.repeated = len(x.scratch.after) < len(h.entries)
	if h.Kind != x.readFrom {
		return
	}
	addresses.Compare(x.scratch.before, x.scratch.after, addresses.UIDOf, func(was, is *addresses.Placed) {
		from := addresses.None
		if was != nil {
			from = was.State
		}
		switch {
		case is == nil:
			x.changeState(s, was.UID, addresses.Origin{}, from, addresses.None)
		case from != is.State:
			x.changeState(s, is.UID, addresses.OriginOf(&held[is.Index]), from, is.State)
		}
	})
}

func attach(h *source, s *service) {
	h.service = s
	s.sources = append(s.sources, h)
	s.writers.Attach(&h.Source)
}

// move attaches a source to another Service. The move does not count as a change of the source's addresses.
func (x *Endpoints) move(h *source, to *service) {
	x.writers.NoteLeft(h.service, &h.Source, x.watches.Now())
	origins := x.unmerge(h)
	h.service.writers.Subtract(&h.Source)
	x.services.detach(h)
	attach(h, to)
	x.remerge(h, origins)
	to.writers.Add(&h.Source)
}

// unmerge removes a source's addresses from its Service, without counting the removals. It returns the origins of the
// addresses for remerge, sorted by UID.
func (x *Endpoints) unmerge(h *source) (origins []addresses.Origin) {
	x.eachMerged(h, func(s addressUpdate, a addresses.Placed, _ int) {
		origins = append(origins, x.changeState(s, a.UID, addresses.Origin{}, a.State, addresses.None).Origin)
	})
	return origins
}

func (x *Endpoints) remerge(h *source, origins []addresses.Origin) {
	x.eachMerged(h, func(s addressUpdate, a addresses.Placed, i int) {
		var from addresses.Origin
		if i < len(origins) {
			from = origins[i]
		}
		x.changeState(s, a.UID, from, addresses.None, a.State)
	})
}

// eachMerged calls a function for each address of a source. It does nothing if the source's kind is not readFrom.
func (x *Endpoints) eachMerged(h *source, do func(s addressUpdate, a addresses.Placed, i int)) {
	if h.Kind != x.readFrom {
		return
	}
	s := x.newAddressUpdate(h, event.Event{Seen: x.watches.Now()})
	s.quiet = true
	x.scratch.before = addresses.Sorted(h.entries, x.scratch.before)
	for i, a := range x.scratch.before {
		do(s, a, i)
	}
	x.settle(s)
}

// drop handles the removal of a slice or an Endpoints object. Addresses that are also in other slices stay.
func (x *Endpoints) drop(e event.Event, sources map[event.UID]*source, id event.UID) {
	h := sources[id]
	if h == nil {
		return
	}
	delete(sources, id)
	writers.NoteLeaving(h.service, &h.Source, e, x.readFrom)
	e.Kind = h.Kind
	x.applyAddresses(h, e, nil, false)
	x.writers.NoteLeft(h.service, &h.Source, e.Seen)
	x.services.detach(h)
}
