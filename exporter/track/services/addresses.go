package services

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// state describes an address in a Service.
type state uint8

// States of an address. Absent means that the Service does not have the address. The other states are ordered from best
// to worst.
const (
	absent state = iota
	ready
	notReady
	terminating
	numStates
)

// stays reports whether an address in this state is expected to stay in the Service.
func (s state) stays() bool { return s == ready || s == notReady }

// stateOf returns the state of an address in one slice or Endpoints object. With publishNotReadyAddresses, a
// terminating address can be ready. Such an address receives traffic until it is removed, so it counts as ready (see
// podToEndpoint in k8s.io/endpointslice).
func stateOf(a *event.Address) state {
	switch {
	case a.Ready:
		return ready
	case a.Terminating:
		return terminating
	}
	return notReady
}

// best returns the better of two states.
func best(a, b state) state {
	if a == absent || b != absent && b < a {
		return b
	}
	return a
}

// address is an address of a Service or of an object. id identifies the pod. Several slices contain the same id if the
// Service has several IP families, or while the address moves to another slice.
type address struct {
	id event.UID
	// bytes holds the IP, or zero for a host name.
	bytes [16]byte
	state state
	// `manual` is set if the address has no targetRef. `foreign` is set if isForeign was true for it.
	manual, foreign bool
	// keeper is the kind of writer of the object.
	keeper keeper
}

func (h *source) newAddress(a *event.Address) address {
	is := address{id: a.UID, state: stateOf(a), manual: a.ByHand, foreign: h.isForeign(a), keeper: h.keeper}
	if ip, err := netip.ParseAddr(a.IP); err == nil {
		is.bytes = ip.As16()
	}
	return is
}

// ip returns the IP. It is zero for a host name.
func (a *address) ip() netip.Addr {
	if a.bytes == [16]byte{} {
		return netip.Addr{}
	}
	return netip.AddrFrom16(a.bytes).Unmap()
}

// changed is an address whose state has changed. If the address is absent now, its other fields are those from before.
type changed struct {
	address
	was state
}

// distinct sorts addresses by ID. If several have the same ID, it keeps the one with the best state.
func distinct(all []address) []address {
	slices.SortFunc(all, func(a, b address) int {
		if by := order(a.id, b.id); by != 0 {
			return by
		}
		return cmp.Compare(a.state, b.state)
	})
	return slices.CompactFunc(all, func(a, b address) bool { return a.id == b.id })
}

// replace replaces an object's addresses, and returns the changes. The changes are sorted by ID. If the object has the
// same addresses as before, in the same places, as in almost all updates, they are in the order of the object. Of an object
// that is not read, it returns no changes.
func (h *source) replace(held []event.Address, read event.Kind) (all []changed) {
	if h.isUnmoved(held) {
		for i := range h.entries {
			e := &h.entries[i]
			if was := e.state; was != stateOf(&held[i]) {
				*e = h.newAddress(&held[i])
				all = append(all, changed{*e, was})
			}
			e.foreign, e.keeper = h.isForeign(&held[i]), h.keeper
		}
		return all
	}
	if h.kind != read {
		h.hold(held)
		return nil
	}
	return compare(distinct(slices.Clone(h.entries)), h.hold(held))
}

// hold stores an object's addresses, and returns the distinct ones, sorted by ID.
func (h *source) hold(held []event.Address) []address {
	if len(h.entries) != len(held) {
		h.entries = make([]address, len(held))
	}
	for i := range held {
		h.entries[i] = h.newAddress(&held[i])
	}
	all := distinct(slices.Clone(h.entries))
	if len(all) < len(h.entries) {
		h.entries = all // an address is in several subsets
	}
	return all
}

// isUnmoved reports whether an object has the same addresses as before, each in the same place.
func (h *source) isUnmoved(held []event.Address) bool {
	if len(h.entries) != len(held) {
		return false
	}
	for i := range held {
		if h.entries[i].id != held[i].UID {
			return false
		}
	}
	return true
}

// compare compares two lists of distinct addresses. They and the changes are sorted by ID.
func compare(before, after []address) (all []changed) {
	for len(before) > 0 || len(after) > 0 {
		switch by := firstOf(before, after); {
		case by < 0:
			c := changed{before[0], before[0].state}
			c.state = absent
			all, before = append(all, c), before[1:]
		case by > 0:
			all, after = append(all, changed{after[0], absent}), after[1:]
		default:
			if was := before[0].state; was != after[0].state {
				all = append(all, changed{after[0], was})
			}
			before, after = before[1:], after[1:]
		}
	}
	return all
}

// firstOf is negative if the next address is only in a, positive if it is only in b, and 0 if it is in both.
func firstOf(a, b []address) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	}
	return order(a[0].id, b[0].id)
}

func order(a, b event.UID) int { return bytes.Compare(a[:], b[:]) }

// replace replaces the addresses of one of a Service's objects. It returns the changes of the Service's addresses.
func (s *service) replace(h *source, held []event.Address, read event.Kind) (all []changed) {
	found := h.replace(held, read)
	if h.kind != read {
		return nil
	}
	all = found[:0]
	for _, c := range found {
		other := s.stateOf(c.id, read, h)
		if c.was, c.state = best(c.was, other), best(c.state, other); c.was != c.state {
			s.count[c.was]--
			s.count[c.state]++
			all = append(all, c)
		}
	}
	return all
}

// stateOf returns the best state of an address in a Service's objects other than `except`.
func (s *service) stateOf(id event.UID, read event.Kind, except *source) (is state) {
	for _, h := range s.sources {
		if h == except || h.kind != read {
			continue
		}
		if i := slices.IndexFunc(h.entries, func(a address) bool { return a.id == id }); i >= 0 {
			is = best(is, h.entries[i].state)
		}
	}
	return is
}

// isReady reports whether an address is in a Service and ready.
func (s *service) isReady(id event.UID, read event.Kind) bool {
	return s.stateOf(id, read, nil) == ready
}

// addresses returns the distinct addresses of a Service in one resource, sorted by ID.
func (s *service) addresses(read event.Kind) []address { return s.appendAddresses(nil, read) }

// appendAddresses returns the addresses in the memory of another list.
func (s *service) appendAddresses(all []address, read event.Kind) []address {
	for _, h := range s.sources {
		if h.kind == read {
			all = append(all, h.entries...)
		}
	}
	return distinct(all)
}

// ids returns the IDs of a Service's addresses.
func (s *service) ids(read event.Kind) (ids []event.UID) {
	for _, a := range s.addresses(read) {
		ids = append(ids, a.id)
	}
	return ids
}

// recount counts a Service's addresses after they moved to another Service or are read from another resource.
func (s *service) recount(read event.Kind) {
	s.count = [numStates]int32{}
	for _, a := range s.addresses(read) {
		s.count[a.state]++
	}
}
