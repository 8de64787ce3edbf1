package track

import (
	"bytes"
	"net/netip"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// state is the state of an address in a Service.
type state uint8

const (
	stateNone state = iota
	stateReady
	stateNotReady
	stateTerminating
	stateCount
)

// stays reports whether the address is in the Service and is to stay there.
func (s state) stays() bool { return s == stateReady || s == stateNotReady }

// stateOf is the state that one slice or Endpoints object gives an address.
// A terminating one that is ready is ready: with publishNotReadyAddresses it takes
// traffic until it is gone (endpointslice controller, podToEndpoint).
func stateOf(a *event.Address) state {
	switch {
	case a.Ready:
		return stateReady
	case a.Terminating:
		return stateTerminating
	}
	return stateNotReady
}

// address is one address of a Service, merged over all the slices that hold it: while it moves
// from one to another, and for each IP family, there are several.
type address struct {
	uid event.UID
	origin
	// in counts the slices that give it each state, from stateReady on.
	in [stateCount - stateReady]uint16
}

// origin is what is known of an address besides its state.
type origin struct {
	// raw is its IP in 16 bytes; zero for a host name.
	raw [16]byte
	// byHand: it has no targetRef.
	byHand bool
}

func originOf(a *event.Address) origin { return origin{rawIP(a.IP), a.ByHand} }

// state is the best that any slice gives it.
func (a *address) state() state {
	for i, n := range a.in {
		if n > 0 {
			return stateReady + state(i)
		}
	}
	return stateNone
}

func (a *address) ip() netip.Addr {
	if a.raw == ([16]byte{}) {
		return netip.Addr{}
	}
	return netip.AddrFrom16(a.raw).Unmap()
}

// addressSet holds the addresses of a Service, sorted by UID.
type addressSet struct {
	list []address
	// count is how many are in each state.
	count [stateCount]int
}

func (s *addressSet) find(id event.UID) (int, bool) {
	return slices.BinarySearchFunc(s.list, id, func(a address, id event.UID) int {
		return bytes.Compare(a.uid[:], id[:])
	})
}

// has reports whether an address is there and ready.
func (s *addressSet) has(id event.UID) bool {
	i, found := s.find(id)
	return found && s.list[i].state() == stateReady
}

// shift moves one holder's part of an address from one state to another and
// returns the address and its merged states before and after.
func (s *addressSet) shift(id event.UID, from origin, was, is state) (address, state, state) {
	i, found := s.find(id)
	if !found {
		s.list = slices.Insert(s.list, i, address{uid: id})
	}
	a := &s.list[i]
	if from != (origin{}) {
		a.origin = from
	}
	before := a.state()
	if was != stateNone {
		a.in[was-stateReady]--
	}
	if is != stateNone {
		a.in[is-stateReady]++
	}
	after := a.state()
	s.count[before]--
	s.count[after]++
	moved := *a
	if after == stateNone {
		s.list = slices.Delete(s.list, i, i+1)
	}
	return moved, before, after
}

// entry is an address as one slice or Endpoints object holds it.
type entry struct {
	uid   event.UID
	state state
}

// placed is an entry and its place in the object.
type placed struct {
	entry
	place int32
}

// sorted fills into (reusing its memory) with entries sorted by UID, each
// address once with the best of its states.
func sorted(entries []entry, into []placed) []placed {
	into = into[:0]
	for i, x := range entries {
		into = append(into, placed{x, int32(i)})
	}
	slices.SortFunc(into, func(a, b placed) int {
		if c := bytes.Compare(a.uid[:], b.uid[:]); c != 0 {
			return c
		}
		return int(a.state) - int(b.state)
	})
	return slices.CompactFunc(into, func(a, b placed) bool { return a.uid == b.uid })
}

// rawIP is an address's IP in 16 bytes; zero if it is none.
func rawIP(ip string) [16]byte {
	parsed, err := netip.ParseAddr(ip)
	if err != nil {
		return [16]byte{}
	}
	return parsed.As16()
}
