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

func (a address) id() event.UID { return a.uid }

// addressSet holds a Service's addresses, sorted by UID.
type addressSet struct {
	list []address
	// count is the number of addresses in each state.
	count [numStates]int
}

func (s *addressSet) stateOf(id event.UID) state {
	if i, found := find(s.list, id); found {
		return s.list[i].state()
	}
	return absent
}

// change changes the state of an address in one object, from `was` to `is`. If `from` is zero, the address keeps its
// origin. change returns the address, the best state that it had in any object before the change, and its best state
// after the change.
func (s *addressSet) change(id event.UID, from origin, was, is state) (moved address, before, after state) {
	i, found := find(s.list, id)
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

func (x entry) id() event.UID { return x.uid }

// sorted converts an object's addresses to entries, sorted by UID. If several addresses have the same UID, it keeps the
// one with the best state. `before` contains the entries before the event. It reuses the memory of `into`.
func sorted(addresses []event.Address, before, into []entry) []entry {
	into = into[:0]
	if isUnmoved(addresses, before) {
		for _, x := range before {
			into = append(into, entry{x.uid, x.index, stateOf(&addresses[x.index])})
		}
		return into
	}
	for i := range addresses {
		into = append(into, entry{addresses[i].UID, int32(i), stateOf(&addresses[i])})
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

// store copies entries. It reuses the memory of `into`, unless its capacity is too small or far too large.
func store(entries, into []entry) []entry {
	if cap(into) < len(entries) || cap(into) > 2*len(entries)+8 {
		into = make([]entry, 0, len(entries))
	}
	return append(into[:0], entries...)
}

// stateChange is the change of one address of an object. The index is that of the new entry.
type stateChange struct {
	uid     event.UID
	was, is state
	index   int32
}

// changes compares the entries of an object before and after an event. The changes are sorted by UID. If the object has
// the same addresses as before, they are in the order of the object.
func changes(before, after []entry) (all []stateChange) {
	if slices.EqualFunc(before, after, func(a, b entry) bool { return a.uid == b.uid }) {
		for i, is := range after {
			if was := before[i].state; was != is.state {
				all = append(all, stateChange{is.uid, was, is.state, is.index})
			}
		}
		slices.SortFunc(all, func(a, b stateChange) int { return int(a.index - b.index) })
		return all
	}
	compare(before, after, func(was, is *entry) {
		switch {
		case is == nil:
			all = append(all, stateChange{was.uid, was.state, absent, 0})
		case was == nil:
			all = append(all, stateChange{is.uid, absent, is.state, is.index})
		case was.state != is.state:
			all = append(all, stateChange{is.uid, was.state, is.state, is.index})
		}
	})
	return all
}

type identified interface{ id() event.UID }

// compare compares two lists that are sorted by UID. It calls `do` once for each UID. If a list does not contain the
// UID, `do` gets nil instead of the element.
func compare[T identified](before, after []T, do func(was, is *T)) {
	for len(before) > 0 || len(after) > 0 {
		first := -1
		switch {
		case len(before) == 0:
			first = 1
		case len(after) > 0:
			first = order(before[0].id(), after[0].id())
		}
		var was, is *T
		if first <= 0 {
			was, before = &before[0], before[1:]
		}
		if first >= 0 {
			is, after = &after[0], after[1:]
		}
		do(was, is)
	}
}

// find returns the index of an address in a list that is sorted by UID.
func find[T identified](sorted []T, id event.UID) (int, bool) {
	return slices.BinarySearchFunc(sorted, id, func(x T, id event.UID) int { return order(x.id(), id) })
}

func order(a, b event.UID) int { return bytes.Compare(a[:], b[:]) }
