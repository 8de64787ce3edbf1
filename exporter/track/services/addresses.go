package services

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// state describes an address in a Service.
type state uint8

// States of an address. absent means that the Service does not have the address. The other states are ordered from best
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

// address is one address of a Service, merged from all slices that contain it. uid identifies the pod. Several slices
// contain the same uid if the Service has several IP families, or while the address moves to another slice.
type address struct {
	uid event.UID
	origin
	// countByState[s-ready] is the number of slices in which the address has the state s.
	countByState [numStates - ready]uint16
}

// origin holds the IP of an address, and a flag for manually managed addresses.
type origin struct {
	// raw is the IP in 16 bytes, or zero for a host name.
	raw [16]byte
	// manual is set if the address has no targetRef.
	manual bool
}

func originOf(a *event.Address) origin {
	o := origin{manual: a.ByHand}
	if ip, err := netip.ParseAddr(a.IP); err == nil {
		o.raw = ip.As16()
	}
	return o
}

// state returns the best state that the address has in any slice.
func (a *address) state() state {
	for i, n := range a.countByState {
		if n > 0 {
			return ready + state(i)
		}
	}
	return absent
}

// ip returns the IP of the address, or the zero Addr for a host name.
func (a *address) ip() netip.Addr {
	if a.raw == ([16]byte{}) {
		return netip.Addr{}
	}
	return netip.AddrFrom16(a.raw).Unmap()
}

// addressSet holds a Service's addresses, sorted by UID.
type addressSet struct {
	list []address
	// count is the number of addresses in each state.
	count [numStates]int
}

func (s *addressSet) stateOf(id event.UID) state {
	if i, found := s.find(id); found {
		return s.list[i].state()
	}
	return absent
}

func (s *addressSet) find(id event.UID) (int, bool) {
	return slices.BinarySearchFunc(s.list, id, func(a address, id event.UID) int { return order(a.uid, id) })
}

// change changes the state of an address in one object, from `was` to `is`. If `from` is zero, the address keeps its
// origin. change returns the address, the best state that it had in any object before the change, and its best state
// after the change.
func (s *addressSet) change(id event.UID, from origin, was, is state) (moved address, before, after state) {
	i, found := s.find(id)
	if !found {
		s.list = slices.Insert(s.list, i, address{uid: id})
	}
	a := &s.list[i]
	if from != (origin{}) {
		a.origin = from
	}
	before = a.state()
	if was != absent {
		a.countByState[was-ready]--
	}
	if is != absent {
		a.countByState[is-ready]++
	}
	after = a.state()
	s.count[before]--
	s.count[after]++
	moved = *a
	if after == absent {
		s.list = slices.Delete(s.list, i, i+1)
	}
	return moved, before, after
}

// entry is an address in one slice or Endpoints object.
type entry struct {
	uid event.UID
	// index is the place of the address in the object.
	index int32
	state state
}

// replace replaces the entries by an object's addresses, and returns the changes.
func (h *source) replace(held []event.Address) (all []stateChange) {
	if !isUnmoved(held, h.entries) {
		before := h.entries
		h.entries = sorted(held)
		return changes(before, h.entries)
	}
	for i := range h.entries {
		x := &h.entries[i]
		if is := stateOf(&held[x.index]); is != x.state {
			all = append(all, stateChange{x.uid, x.state, is, x.index})
			x.state = is
		}
	}
	slices.SortFunc(all, func(a, b stateChange) int { return int(a.index - b.index) })
	return all
}

// sorted converts an object's addresses to entries, sorted by UID. If several addresses have the same UID, it keeps the
// one with the best state.
func sorted(held []event.Address) []entry {
	into := make([]entry, len(held))
	for i := range held {
		into[i] = entry{held[i].UID, int32(i), stateOf(&held[i])}
	}
	slices.SortFunc(into, func(a, b entry) int {
		if c := order(a.uid, b.uid); c != 0 {
			return c
		}
		return int(a.state) - int(b.state)
	})
	return slices.CompactFunc(into, func(a, b entry) bool { return a.uid == b.uid })
}

// isUnmoved reports whether an object has the same addresses as before, each in the same place. Almost all updates of an
// object change only the states of its addresses.
func isUnmoved(addresses []event.Address, before []entry) bool {
	if len(addresses) != len(before) {
		return false
	}
	for _, x := range before {
		if int(x.index) >= len(addresses) || addresses[x.index].UID != x.uid {
			return false
		}
	}
	return true
}

// stateChange is the change of one address of an object. The index is that of the new entry, or of the old one if the
// address was removed.
type stateChange struct {
	uid     event.UID
	was, is state
	index   int32
}

// changes compares the entries of an object before and after an event. The changes are sorted by UID. If the object has
// the same addresses as before, they are in the order of the object.
func changes(before, after []entry) (all []stateChange) {
	same := true
	for len(before) > 0 || len(after) > 0 {
		var c stateChange
		first := firstOf(before, after)
		if first <= 0 {
			c.uid, c.was, c.index = before[0].uid, before[0].state, before[0].index
			before = before[1:]
		}
		if first >= 0 {
			c.uid, c.is, c.index = after[0].uid, after[0].state, after[0].index
			after = after[1:]
		}
		if same = same && first == 0; c.was != c.is {
			all = append(all, c)
		}
	}
	if same {
		slices.SortFunc(all, func(a, b stateChange) int { return int(a.index - b.index) })
	}
	return all
}

// firstOf returns a negative number if the first entry of a comes before that of b, and 0 if both are of the same address.
func firstOf(a, b []entry) int {
	switch {
	case len(a) == 0:
		return 1
	case len(b) == 0:
		return -1
	case a[0].uid == b[0].uid:
		return 0
	}
	return order(a[0].uid, b[0].uid)
}

func order(a, b event.UID) int { return bytes.Compare(a[:], b[:]) }
