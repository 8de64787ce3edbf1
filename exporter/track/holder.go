package track

import (
	"bytes"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// holder is a slice or an Endpoints object: it holds addresses of one Service.
type holder struct {
	service    *service
	kind       event.Kind
	generation uint32
	// owner is the UID of the Service that it names as its owner; zero if it names none.
	owner event.UID
	// writer is a hash of the field manager that wrote the addresses when it was first seen.
	writer uint64
	// mirrored: a slice made from Endpoints; ownSlice: one that the EndpointSlice controller keeps.
	mirrored, ownSlice bool
	// truncated: it left addresses out when it was last seen.
	truncated bool
	// entries are in the order of the object; repeated: some address is there more than once.
	entries  []entry
	repeated bool
	// byHand counts the addresses without a targetRef, managed those with one.
	byHand, managed int
	// version is the resourceVersion of Endpoints that are written by hand.
	version string
}

func generationOfHolder(h *holder) uint32 { return h.generation }

// managerName is the field manager of the controllers that write slices and Endpoints, unless a distribution renamed it.
const managerName = "kube-controller-manager"

const sliceController = "endpointslice-controller.k8s.io"

const mirroringController = "endpointslicemirroring-controller.k8s.io"

func (f *Tracker) applySlice(e event.Event, o *event.EndpointSlice) {
	if e.Type == event.Deleted {
		f.dropHolder(e, f.slices, o.UID)
		return
	}
	h := f.slices[o.UID]
	key := serviceKey{o.Namespace, o.Service}
	if h != nil && h.service.key != key {
		// It was given to another Service, or to none.
		f.dropHolder(e, f.slices, o.UID)
		h = nil
	}
	switch {
	case o.Service == "":
		return
	case h == nil:
		h = &holder{kind: event.KindEndpointSlice, owner: o.Owner}
		f.slices[o.UID] = h
		f.attach(h, f.serviceOf(key, o.Owner))
	case h.owner != o.Owner:
		h.owner = o.Owner
		if s := f.serviceOf(key, o.Owner); s != h.service {
			f.move(h, s)
		}
	}
	h.mirrored, h.ownSlice = o.ManagedBy == mirroringController, o.ManagedBy == sliceController
	f.noteWriter(h, e, o.Writer)
	f.hold(h, e, o.Addresses, false)
}

func (f *Tracker) applyEndpoints(e event.Event, o *event.Endpoints) {
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
	f.noteWriter(h, e, o.Writer)
	f.hold(h, e, o.Addresses, o.Truncated)
}

// noteWriter notes that someone else than before wrote a slice or Endpoints object: who edits what a
// controller keeps. A placeholder without addresses has no writer; the controller itself, by the name that it has as
// a rule, edits nothing.
func (f *Tracker) noteWriter(h *holder, e event.Event, writer string) {
	if writer == "" {
		return
	}
	is := hashOf(writer)
	if h.writer != 0 && h.writer != is && writer != managerName && e.Type == event.Modified && h.kind == f.source {
		h.service.edited = e.Seen
	}
	if h.writer == 0 || writer == managerName {
		h.writer = is
	}
}

// hold makes the addresses of an event the holder's.
func (f *Tracker) hold(h *holder, e event.Event, addresses []event.Address, truncated bool) {
	h.generation = f.generation(e)
	f.remember(h, e)
	s := shift{service: h.service, at: e.Seen, quiet: f.first(e) || f.relisting(e), wasTruncated: h.truncated, truncated: truncated, mirrored: h.mirrored}
	h.truncated = truncated
	readyBefore, lossesBefore := s.addresses.count[stateReady], f.losses.fresh.end()
	if h.sameAddresses(addresses) {
		f.restate(s, h, addresses)
	} else {
		f.replace(s, h, addresses)
	}
	if !f.relisting(e) {
		f.settle(s, readyBefore, lossesBefore)
	}
	f.countByHand(s, h, addresses)
	f.settleLossesFrom(lossesBefore)
	f.doubt(h.service, e.Seen)
}

// sameAddresses reports whether the addresses are the holder's, in the same
// order, as they are in most events: then nothing needs sorting.
func (h *holder) sameAddresses(addresses []event.Address) bool {
	if h.repeated || len(addresses) != len(h.entries) {
		return false
	}
	for i := range addresses {
		if addresses[i].UID != h.entries[i].uid {
			return false
		}
	}
	return true
}

// restate gives the holder's addresses new states.
func (f *Tracker) restate(s shift, h *holder, addresses []event.Address) {
	for i := range addresses {
		x := &h.entries[i]
		before := x.state
		x.state = stateOf(&addresses[i])
		if before != x.state && h.kind == f.source {
			f.shiftAddress(s, x.uid, originOf(&addresses[i]), before, x.state)
		}
	}
}

// replace gives the holder other addresses.
func (f *Tracker) replace(s shift, h *holder, addresses []event.Address) {
	f.scratch.before = sorted(h.entries, f.scratch.before)
	h.entries = storeEntries(h.entries, addresses)
	f.scratch.after = sorted(h.entries, f.scratch.after)
	h.repeated = len(f.scratch.after) < len(h.entries)
	if h.kind == f.source {
		f.merge(s, f.scratch.before, f.scratch.after, addresses)
	}
}

// storeEntries puts the addresses into the holder's own memory, of the right size.
func storeEntries(held []entry, addresses []event.Address) []entry {
	if cap(held) < len(addresses) || cap(held) > 2*len(addresses)+8 {
		held = make([]entry, 0, len(addresses))
	}
	held = held[:0]
	for i := range addresses {
		held = append(held, entry{addresses[i].UID, stateOf(&addresses[i])})
	}
	return held
}

// merge walks two sorted lists of a holder's addresses, before and after, and
// moves each address that differs.
func (f *Tracker) merge(s shift, before, after []placed, addresses []event.Address) {
	for len(before) > 0 || len(after) > 0 {
		order := -1
		switch {
		case len(before) == 0:
			order = 1
		case len(after) > 0:
			order = bytes.Compare(before[0].uid[:], after[0].uid[:])
		}
		if order < 0 {
			f.shiftAddress(s, before[0].uid, origin{}, before[0].state, stateNone)
			before = before[1:]
			continue
		}
		from := stateNone
		if order == 0 {
			from, before = before[0].state, before[1:]
		}
		if to := after[0]; from != to.state {
			f.shiftAddress(s, to.uid, originOf(&addresses[to.place]), from, to.state)
		}
		after = after[1:]
	}
}

func (f *Tracker) shiftAddress(s shift, id event.UID, from origin, was, is state) address {
	a, before, after := s.addresses.shift(id, from, was, is)
	if before != after {
		f.moved(s, &a, before, after)
	}
	return a
}

func (f *Tracker) attach(h *holder, s *service) {
	h.service = s
	s.holders = append(s.holders, h)
}

// detach takes a holder away from its Service, which goes if it was the last to speak for it.
func (f *Tracker) detach(h *holder) {
	s := h.service
	i := slices.Index(s.holders, h)
	s.holders = slices.Delete(s.holders, i, i+1)
	f.forgetServiceIfGone(s)
}

// move hands a holder over to another Service, where what it holds is a baseline.
func (f *Tracker) move(h *holder, to *service) {
	origins := f.unmerge(h)
	h.service.forgetHolder(h)
	f.detach(h)
	f.attach(h, to)
	f.remerge(h, origins)
	to.takeHolder(h)
}

// unmerge takes a holder's addresses out of its Service without counting, and
// returns where they come from, in the order of their UIDs. remerge puts them in.
func (f *Tracker) unmerge(h *holder) (origins []origin) {
	f.eachMerged(h, func(s shift, x placed, _ int) {
		a := f.shiftAddress(s, x.uid, origin{}, x.state, stateNone)
		origins = append(origins, a.origin)
	})
	return origins
}

func (f *Tracker) remerge(h *holder, origins []origin) {
	f.eachMerged(h, func(s shift, x placed, i int) {
		var from origin
		if i < len(origins) {
			from = origins[i]
		}
		f.shiftAddress(s, x.uid, from, stateNone, x.state)
	})
}

// eachMerged calls do for each of a holder's addresses, if it is of the source that is read.
func (f *Tracker) eachMerged(h *holder, do func(s shift, x placed, i int)) {
	if h.kind != f.source {
		return
	}
	s := shift{service: h.service, at: f.now, quiet: true}
	readyBefore, lossesBefore := s.addresses.count[stateReady], f.losses.fresh.end()
	f.scratch.before = sorted(h.entries, f.scratch.before)
	for i, x := range f.scratch.before {
		do(s, x, i)
	}
	f.settle(s, readyBefore, lossesBefore)
}

// switchSource reads the address states from the other resource from now on.
// Where they come from is told by the next event of each.
func (f *Tracker) switchSource(to event.Kind) {
	if f.source == to {
		return
	}
	f.eachHolder(func(h *holder) { f.unmerge(h) })
	f.source = to
	f.eachHolder(func(h *holder) { f.remerge(h, nil) })
}

func (f *Tracker) eachHolder(do func(*holder)) {
	for _, holders := range []map[event.UID]*holder{f.slices, f.endpoints} {
		for _, id := range sortedIDs(holders) {
			do(holders[id])
		}
	}
}

// dropHolder folds the deletion of a slice or Endpoints object. Addresses that
// other slices hold stay.
func (f *Tracker) dropHolder(e event.Event, holders map[event.UID]*holder, id event.UID) {
	h := holders[id]
	if h == nil {
		return
	}
	delete(holders, id)
	if e.Type == event.Deleted && h.kind == f.source {
		if h.ownSlice {
			h.service.sliceDeleted = e.Seen
		} else {
			h.service.edited = e.Seen
		}
	}
	f.hold(h, event.Event{Seen: e.Seen, Kind: h.kind, Type: e.Type}, nil, false)
	f.detach(h)
}
