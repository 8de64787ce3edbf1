package recording

import (
	"errors"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Most events of Endpoints and EndpointSlices change one of many addresses. In a compressed recording, the field "known"
// of such an event has a number for each address: 0 for the next address of the object, or else one plus four times the
// index in the addresses of the object's previous event in the file, plus 1 if it is ready, plus 2 if it is terminating.

const (
	// maxKnown is the maximum number of addresses of an event with this field.
	maxKnown = 1000
	// maxRemembered is the maximum number of addresses that a Writer remembers, which take about 1 MB.
	maxRemembered = 1 << 14
)

// addressLists holds the addresses of objects after their last events.
type addressLists map[event.UID][]event.Address

// addressesOf returns the addresses of an object, or nil if its kind has none.
func addressesOf(object event.Object) *[]event.Address {
	switch o := object.(type) {
	case *event.Endpoints:
		return &o.Addresses
	case *event.EndpointSlice:
		return &o.Addresses
	}
	return nil
}

// shortener replaces known addresses by numbers. It only remembers the addresses of objects that change.
type shortener struct {
	lists addressLists
	size  int
	// The results of the last call. The memory is reused.
	known     []int
	fresh     []event.Address
	endpoints event.Endpoints
	slice     event.EndpointSlice
}

// shorten returns the event with the addresses that have no number, and the numbers. If there are no numbers, the event is
// unchanged.
func (s *shortener) shorten(ev event.Event) (short event.Event, known []int) {
	addresses := addressesOf(ev.Object)
	if addresses == nil {
		return ev, nil
	}
	uid := ev.Object.Metadata().UID
	before := s.lists[uid]
	s.size -= len(before)
	delete(s.lists, uid)
	if ev.Type != event.Modified || uid.IsZero() || len(*addresses) > maxKnown {
		return ev, nil
	}
	if s.size += len(*addresses); s.size > maxRemembered || s.lists == nil {
		s.lists, s.size = addressLists{}, len(*addresses)
	}
	s.lists[uid] = *addresses
	if len(before) == 0 || len(*addresses) == 0 {
		return ev, nil
	}
	s.number(before, *addresses)
	switch o := ev.Object.(type) {
	case *event.Endpoints:
		s.endpoints = *o
		ev.Object = &s.endpoints
	case *event.EndpointSlice:
		s.slice = *o
		ev.Object = &s.slice
	}
	*addressesOf(ev.Object) = s.fresh
	return ev, s.known
}

// number sets the numbers of addresses, and the addresses without a number. Most addresses have the same order as before.
func (s *shortener) number(before, addresses []event.Address) {
	s.known, s.fresh = s.known[:0], s.fresh[:0]
	next := 0
	for _, address := range addresses {
		same := func(b event.Address) bool {
			b.Ready, b.Terminating = address.Ready, address.Terminating
			return b == address
		}
		at := slices.IndexFunc(before[next:], same)
		if at >= 0 {
			at += next
		} else if at = slices.IndexFunc(before[:next], same); at < 0 {
			s.known, s.fresh = append(s.known, 0), append(s.fresh, address)
			continue
		}
		number := 1 + 4*at
		if address.Ready {
			number++
		}
		if address.Terminating {
			number += 2
		}
		s.known, next = append(s.known, number), at+1
	}
}

// complete replaces the numbers of an event by addresses, and remembers the addresses.
func (l addressLists) complete(ev event.Event, known []int) error {
	addresses := addressesOf(ev.Object)
	if addresses == nil {
		return nil
	}
	uid := ev.Object.Metadata().UID
	if before, fresh := l[uid], *addresses; len(known) > 0 {
		*addresses = make([]event.Address, 0, min(len(known), maxKnown))
		for _, number := range known {
			at := (number - 1) / 4
			var address event.Address
			switch {
			case len(*addresses) == maxKnown:
				return errors.New(`the field "known" is too long`)
			case number == 0 && len(fresh) > 0:
				address, fresh = fresh[0], fresh[1:]
			case number > 0 && at < len(before):
				address = before[at]
				address.Ready, address.Terminating = (number-1)&1 > 0, (number-1)&2 > 0
			default:
				return errors.New("an address is unknown")
			}
			*addresses = append(*addresses, address)
		}
	}
	if l[uid] = *addresses; ev.Type == event.Deleted {
		delete(l, uid)
	}
	return nil
}
