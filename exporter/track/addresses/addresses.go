// Package addresses merges the addresses of a Service over the objects that
// hold them.
package addresses

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// State is the state of an address in a Service.
type State uint8

// The states. The best comes first.
const (
	None State = iota
	Ready
	NotReady
	Terminating
	// NumStates is the number of states, for arrays indexed by State.
	NumStates
)

// Stays reports whether the address is in the Service and is to stay there.
func (s State) Stays() bool { return s == Ready || s == NotReady }

// StateOf is the state that one slice or Endpoints object gives an address. A terminating address that is ready counts as ready: with
// publishNotReadyAddresses it takes traffic until it is gone (endpointslice controller, podToEndpoint).
func StateOf(a *event.Address) State {
	switch {
	case a.Ready:
		return Ready
	case a.Terminating:
		return Terminating
	}
	return NotReady
}

// Address is one address of a Service, merged over all slices that hold it. There are several while it moves
// from one slice to another, and one for each IP family.
type Address struct {
	UID event.UID
	Origin
	// in counts the slices that give it each state, from Ready on.
	in [NumStates - Ready]uint16
}

// Origin is what is known of an address besides its state.
type Origin struct {
	// raw is the IP in 16 bytes; zero for a host name.
	raw [16]byte
	// Manual: the address has no targetRef.
	Manual bool
}

// OriginOf is the origin of an address.
func OriginOf(a *event.Address) Origin {
	o := Origin{Manual: a.ByHand}
	if ip, err := netip.ParseAddr(a.IP); err == nil {
		o.raw = ip.As16()
	}
	return o
}

// State is the best that any slice gives the address.
func (a *Address) State() State {
	for i, n := range a.in {
		if n > 0 {
			return Ready + State(i)
		}
	}
	return None
}

// IP is the address's IP; the zero Addr if it is a host name.
func (a *Address) IP() netip.Addr {
	if a.raw == ([16]byte{}) {
		return netip.Addr{}
	}
	return netip.AddrFrom16(a.raw).Unmap()
}

// Set holds the addresses of a Service, sorted by UID.
type Set struct {
	List []Address
	// Count is how many are in each state.
	Count [NumStates]int
}

// StateOf is the state of an address in the set.
func (s *Set) StateOf(id event.UID) State {
	if i, found := s.find(id); found {
		return s.List[i].State()
	}
	return None
}

func (s *Set) find(id event.UID) (int, bool) {
	return slices.BinarySearchFunc(s.List, id, func(a Address, id event.UID) int { return bytes.Compare(a.UID[:], id[:]) })
}

// Shift moves one object's part of an address from one state to another. It returns the address and its merged states before
// and after.
func (s *Set) Shift(id event.UID, from Origin, was, is State) (moved Address, before, after State) {
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
		a.in[was-Ready]--
	}
	if is != None {
		a.in[is-Ready]++
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
