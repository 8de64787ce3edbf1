// Package addresses merges a Service's addresses from the objects that contain them.
package addresses

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// State describes an address in a Service.
type State uint8

// States of an address. None means that the address is absent. The other states are ordered from best to worst.
const (
	None State = iota
	Ready
	NotReady
	Terminating
	// NumStates is the number of states, for arrays indexed by State.
	NumStates
)

// Stays reports whether an address in this state is expected to stay in the Service.
func (s State) Stays() bool { return s == Ready || s == NotReady }

// StateOf returns the state of an address in one slice or Endpoints object. With publishNotReadyAddresses, a
// terminating address can be ready. Such an address receives traffic until it is removed, so it counts as ready (see
// podToEndpoint in k8s.io/endpointslice).
func StateOf(a *event.Address) State {
	switch {
	case a.Ready:
		return Ready
	case a.Terminating:
		return Terminating
	}
	return NotReady
}

// Address is one address of a Service, merged from all slices that contain it. UID identifies the pod. Several slices
// contain the same UID if the Service has several IP families, or while the address moves to another slice.
type Address struct {
	UID event.UID
	Origin
	// countByState[s-Ready] is the number of slices in which the address has the state s.
	countByState [NumStates - Ready]uint16
}

// Origin holds the IP of an address, and a flag for manually managed addresses.
type Origin struct {
	// raw is the IP in 16 bytes, or zero for a host name.
	raw [16]byte
	// Manual reports whether the address has no targetRef.
	Manual bool
}

// OriginOf returns the origin of an address.
func OriginOf(a *event.Address) Origin {
	o := Origin{Manual: a.ByHand}
	if ip, err := netip.ParseAddr(a.IP); err == nil {
		o.raw = ip.As16()
	}
	return o
}

// State returns the best state that the address has in any slice.
func (a *Address) State() State {
	for i, n := range a.countByState {
		if n > 0 {
			return Ready + State(i)
		}
	}
	return None
}

// IP returns the IP of the address, or the zero Addr for a host name.
func (a *Address) IP() netip.Addr {
	if a.raw == ([16]byte{}) {
		return netip.Addr{}
	}
	return netip.AddrFrom16(a.raw).Unmap()
}

// Set holds a Service's addresses, sorted by UID.
type Set struct {
	List []Address
	// Count is the number of addresses in each state.
	Count [NumStates]int
}

// StateOf returns the state of an address in the set.
func (s *Set) StateOf(id event.UID) State {
	if i, found := s.find(id); found {
		return s.List[i].State()
	}
	return None
}

func (s *Set) find(id event.UID) (int, bool) {
	return slices.BinarySearchFunc(s.List, id, func(a Address, id event.UID) int { return bytes.Compare(a.UID[:], id[:]) })
}

// ChangeState changes the state of an address in one object, from `was` to `is`. If `from` is zero, the address keeps
// its Origin. ChangeState returns the address, the best state that it had in any object before the change, and its best
// state after the change.
func (s *Set) ChangeState(id event.UID, from Origin, was, is State) (moved Address, before, after State) {
	i, found := s.find(id)
	if !found {
		s.List = slices.Insert(s.List, i, Address{UID: id})
	}
	a := &s.List[i]
	if from != (Origin{}) {
		a.Origin = from
	}
	before = a.State()
	if was != None {
		a.countByState[was-Ready]--
	}
	if is != None {
		a.countByState[is-Ready]++
	}
	after = a.State()
	s.Count[before]--
	s.Count[after]++
	moved = *a
	if after == None {
		s.List = slices.Delete(s.List, i, i+1)
	}
	return moved, before, after
}
