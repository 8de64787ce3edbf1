package flap

import (
	"bytes"
	"math"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// holder is a slice or an Endpoints object: it holds addresses of one Service.
type holder struct {
	service    *service
	kind       event.Kind
	generation uint32
	// owner is the UID of the Service that it names as its owner; zero if it names none.
	owner event.UID
	// mirrored: a slice made from Endpoints.
	mirrored bool
	// entries are sorted by UID.
	entries []entry
	// byHand counts the addresses without a targetRef, managed those with one.
	byHand, managed int
}

func generationOfHolder(h *holder) uint32 { return h.generation }

const mirroringController = "endpointslicemirroring-controller.k8s.io"

func (f *Fold) applySlice(e event.Event, o *event.EndpointSlice) {
	if e.Type == event.Deleted {
		f.dropHolder(e, f.slices, o.UID)
		return
	}
	h := f.slices[o.UID]
	if o.Service == "" {
		// It speaks for no Service (any more).
		f.dropHolder(e, f.slices, o.UID)
		return
	}
	key := serviceKey{o.Namespace, o.Service}
	switch {
	case h == nil:
		h = &holder{kind: event.KindEndpointSlice, owner: o.Owner}
		f.slices[o.UID] = h
		f.attach(h, f.serviceOf(key, o.Owner))
	case h.service.key != key || h.owner != o.Owner:
		h.owner = o.Owner
		f.move(h, f.serviceOf(key, o.Owner))
	}
	h.mirrored = o.ManagedBy == mirroringController
	f.hold(h, e, o.Addresses, false)
}

func (f *Fold) applyEndpoints(e event.Event, o *event.Endpoints) {
	if e.Type == event.Deleted {
		f.dropHolder(e, f.endpoints, o.UID)
		return
	}
	h := f.endpoints[o.UID]
	if h == nil {
		h = &holder{kind: event.KindEndpoints}
		f.endpoints[o.UID] = h
		f.attach(h, f.serviceOf(serviceKey{o.Namespace, o.Name}, event.UID{}))
	}
	f.hold(h, e, o.Addresses, o.Truncated)
}

// hold makes the addresses of an event the holder's.
func (f *Fold) hold(h *holder, e event.Event, addresses []event.Address, truncated bool) {
	h.generation = f.generation(e)
	// An object in etcd has room for some ten thousand addresses.
	addresses = addresses[:min(len(addresses), math.MaxUint16)]
	f.scratch = entriesOf(addresses, f.scratch)
	s := shift{service: h.service, at: e.Seen, quiet: f.first(e), truncated: truncated}
	if h.kind == f.source {
		f.merge(s, h.entries, f.scratch, addresses)
	}
	h.entries = storeEntries(h.entries, f.scratch)
	f.countByHand(s, h, addresses)
}

// storeEntries copies entries into the holder's own memory, of the right size.
func storeEntries(held, entries []entry) []entry {
	if cap(held) < len(entries) || cap(held) > 2*len(entries)+8 {
		held = make([]entry, 0, len(entries))
	}
	return append(held[:0], entries...)
}

// merge walks two sorted lists of a holder's addresses, before and after, and
// moves each address that differs.
func (f *Fold) merge(s shift, before, after []entry, addresses []event.Address) {
	readyBefore := s.addresses.count[stateReady]
	for len(before) > 0 || len(after) > 0 {
		order := -1
		switch {
		case len(before) == 0:
			order = 1
		case len(after) > 0:
			order = bytes.Compare(before[0].uid[:], after[0].uid[:])
		}
		switch {
		case order < 0:
			f.shiftAddress(s, before[0].uid, [16]byte{}, before[0].state, stateNone)
			before = before[1:]
		case order > 0:
			f.shiftAddress(s, after[0].uid, rawIP(addresses[after[0].order].IP), stateNone, after[0].state)
			after = after[1:]
		default:
			if before[0].state != after[0].state {
				f.shiftAddress(s, after[0].uid, rawIP(addresses[after[0].order].IP), before[0].state, after[0].state)
			}
			before, after = before[1:], after[1:]
		}
	}
	f.settleOutage(s, readyBefore)
}

func (f *Fold) shiftAddress(s shift, id event.UID, raw [16]byte, from, to state) {
	a, before, after := s.addresses.shift(id, raw, from, to)
	if before != after {
		f.moved(s, &a, before, after)
	}
}

func (f *Fold) attach(h *holder, s *service) {
	h.service = s
	s.holders++
}

// move hands a holder over to another Service, where what it holds is a baseline.
func (f *Fold) move(h *holder, to *service) {
	f.unmerge(h)
	from := h.service
	from.holders--
	from.forgetHolder(h)
	f.forgetServiceIfGone(from)
	f.attach(h, to)
	f.remerge(h)
	to.takeHolder(h)
}

// unmerge takes a holder's addresses out of its Service without counting, remerge puts them in.
func (f *Fold) unmerge(h *holder) {
	if h.kind == f.source {
		f.merge(shift{service: h.service, at: f.now, quiet: true}, h.entries, nil, nil)
	}
}

func (f *Fold) remerge(h *holder) {
	if h.kind != f.source {
		return
	}
	s := shift{service: h.service, at: f.now, quiet: true}
	readyBefore := s.addresses.count[stateReady]
	for _, x := range h.entries {
		f.shiftAddress(s, x.uid, [16]byte{}, stateNone, x.state)
	}
	f.settleOutage(s, readyBefore)
}

// switchSource reads the address states from the other resource from now on.
func (f *Fold) switchSource(to event.Kind) {
	if f.source == to {
		return
	}
	for _, holders := range []map[event.UID]*holder{f.slices, f.endpoints} {
		for _, h := range holders {
			f.unmerge(h)
		}
	}
	f.source = to
	for _, holders := range []map[event.UID]*holder{f.slices, f.endpoints} {
		for _, h := range holders {
			f.remerge(h)
		}
	}
}

// dropHolder folds the deletion of a slice or Endpoints object. Addresses that
// other slices hold stay.
func (f *Fold) dropHolder(e event.Event, holders map[event.UID]*holder, id event.UID) {
	h := holders[id]
	if h == nil {
		return
	}
	delete(holders, id)
	s := shift{service: h.service, at: e.Seen}
	if h.kind == f.source {
		f.merge(s, h.entries, nil, nil)
	}
	f.countByHand(s, h, nil)
	h.service.holders--
	f.forgetServiceIfGone(h.service)
}
