package losses

import (
	"bytes"
	"cmp"
	"net/netip"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// State describes an address in a Service.
type State uint8

// States of an address. Absent means that the Service does not have the address. The other states are ordered from best
// to worst.
const (
	Absent State = iota
	Ready
	NotReady
	Terminating
	numStates
)

// Stays reports whether an address in this state is expected to stay in the Service.
func (s State) Stays() bool { return s == Ready || s == NotReady }

// stateOf returns the state of an address in one slice or Endpoints object. With publishNotReadyAddresses, a
// terminating address can be ready. Such an address receives traffic until it is removed, so it counts as ready (see
// podToEndpoint in k8s.io/endpointslice).
func stateOf(a *event.Address) State {
	switch {
	case a.Ready:
		return Ready
	case a.Terminating:
		return Terminating
	}
	return NotReady
}

// best returns the better of two states.
func best(a, b State) State {
	if a == Absent || b != Absent && b < a {
		return b
	}
	return a
}

// Address is an address of a Service or of an object. ID identifies the pod. Several slices contain the same ID if the
// Service has several IP families, or while the address moves to another slice.
type Address struct {
	ID event.UID
	// IP is zero for a host name.
	IP netip.Addr
	// Manual is set if the address has no targetRef.
	Manual bool
	State  State
	// `place` is the place of the address in its object.
	place int
}

// Changed is an address whose state has changed. If the address is Absent now, its other fields are those from before.
type Changed struct {
	Address
	Was State
}

// entry is the stored form of an address of an object. IPv6 addresses are in Source.ipv6.
type entry struct {
	id event.UID
	// `place` is the place of the address in its object.
	place  int32
	ipv4   [4]byte
	state  State
	manual bool
}

func newAddress(held []event.Address, place int) Address {
	a := &held[place]
	ip, _ := netip.ParseAddr(a.IP)
	return Address{ID: a.UID, IP: ip.Unmap().WithZone(""), Manual: a.ByHand, State: stateOf(a), place: place}
}

func (h *Source) pack(a Address) entry {
	e := entry{id: a.ID, place: int32(a.place), state: a.State, manual: a.Manual}
	switch {
	case a.IP.Is4():
		e.ipv4 = a.IP.As4()
	case a.IP.IsValid():
		if h.ipv6 == nil {
			h.ipv6 = map[event.UID]netip.Addr{}
		}
		h.ipv6[a.ID] = a.IP
	}
	return e
}

// addresses returns the addresses of an object, sorted by ID.
func (h *Source) addresses() []Address {
	all := make([]Address, len(h.entries))
	for i, e := range h.entries {
		ip := netip.AddrFrom4(e.ipv4)
		if e.ipv4 == [4]byte{} {
			ip = h.ipv6[e.id]
		}
		all[i] = Address{e.id, ip, e.manual, e.state, int(e.place)}
	}
	return all
}

// distinct sorts addresses by ID. If several have the same ID, it keeps the one with the best state.
func distinct(all []Address) []Address {
	slices.SortFunc(all, func(a, b Address) int { return cmp.Or(order(a.ID, b.ID), cmp.Compare(a.State, b.State)) })
	return slices.CompactFunc(all, func(a, b Address) bool { return a.ID == b.ID })
}

// replace replaces an object's addresses, and returns the changes. The changes are sorted by ID. If the object has the
// same addresses as before, they are in the order of the object.
func (h *Source) replace(held []event.Address) (all []Changed) {
	if h.isUnmoved(held) {
		for i, e := range h.entries {
			if e.state != stateOf(&held[e.place]) {
				a := newAddress(held, int(e.place))
				h.entries[i] = h.pack(a)
				all = append(all, Changed{a, e.state})
			}
		}
		slices.SortFunc(all, func(a, b Changed) int { return a.place - b.place })
		return all
	}
	after := make([]Address, len(held))
	for i := range held {
		after[i] = newAddress(held, i)
	}
	after = distinct(after)
	all = Compare(h.addresses(), after)
	if !slices.ContainsFunc(all, func(c Changed) bool { return c.Was == Absent || c.State == Absent }) {
		slices.SortFunc(all, func(a, b Changed) int { return a.place - b.place })
	}
	h.entries, h.ipv6 = make([]entry, len(after)), nil
	for i, a := range after {
		h.entries[i] = h.pack(a)
	}
	return all
}

// isUnmoved reports whether an object has the same addresses as before, each in the same place. Almost all updates of an
// object change only the states of its addresses.
func (h *Source) isUnmoved(held []event.Address) bool {
	return len(h.entries) == len(held) && !slices.ContainsFunc(h.entries, func(e entry) bool {
		return int(e.place) >= len(held) || held[e.place].UID != e.id // a longer object can have had an address twice
	})
}

// Compare compares two lists of addresses. The second list is distinct. The changes are sorted by ID.
func Compare(before, after []Address) (all []Changed) {
	was := map[event.UID]Address{}
	for _, a := range before {
		was[a.ID] = a
	}
	for _, a := range after {
		if was[a.ID].State != a.State {
			all = append(all, Changed{a, was[a.ID].State})
		}
		delete(was, a.ID)
	}
	for _, a := range was {
		c := Changed{a, a.State}
		c.State = Absent
		all = append(all, c)
	}
	slices.SortFunc(all, func(a, b Changed) int { return order(a.ID, b.ID) })
	return all
}

func order(a, b event.UID) int { return bytes.Compare(a[:], b[:]) }

// Replace replaces the addresses of one of a Service's objects. It returns the changes of the Service's addresses.
func (s *Service) Replace(h *Source, held []event.Address, read event.Kind) (all []Changed) {
	for _, c := range h.replace(held) {
		if h.Kind != read {
			break
		}
		other := s.stateOf(c.ID, read, h)
		if c.Was, c.State = best(c.Was, other), best(c.State, other); c.Was != c.State {
			s.Count[c.Was]--
			s.Count[c.State]++
			all = append(all, c)
		}
	}
	return all
}

// stateOf returns the best state of an address in a Service's objects other than `except`.
func (s *Service) stateOf(id event.UID, read event.Kind, except *Source) (is State) {
	for _, h := range s.Sources {
		if h == except || h.Kind != read {
			continue
		}
		if i, found := slices.BinarySearchFunc(h.entries, id, func(e entry, id event.UID) int { return order(e.id, id) }); found {
			is = best(is, h.entries[i].state)
		}
	}
	return is
}

// IsReady reports whether an address is in a Service and ready.
func (s *Service) IsReady(id event.UID, read event.Kind) bool {
	return s.stateOf(id, read, nil) == Ready
}

// Addresses returns the distinct addresses of a Service in one resource, sorted by ID.
func (s *Service) Addresses(read event.Kind) (all []Address) {
	for _, h := range s.Sources {
		if h.Kind == read {
			all = append(all, h.addresses()...)
		}
	}
	return distinct(all)
}

// Recount counts a Service's addresses after they moved to another Service or are read from another resource.
func (s *Service) Recount(read event.Kind) {
	s.Count = [numStates]int32{}
	for _, a := range s.Addresses(read) {
		s.Count[a.State]++
	}
}
