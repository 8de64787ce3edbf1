package decode

import "github.com/kubeflap/kubeflap/exporter/event"

const (
	// labelManagedBy is on what the endpoints controller of v1.33 or later has written
	// (pkg/controller/endpoint, LabelManagedBy).
	labelManagedBy = "endpoints.kubernetes.io/managed-by"
	// overCapacity is corev1.EndpointsOverCapacity.
	overCapacity = "endpoints.kubernetes.io/over-capacity"
)

func (r *Reader) endpoints(data, meta []byte, slim event.Meta) *event.Endpoints {
	return &event.Endpoints{
		Meta:      slim,
		ManagedBy: r.text(r.entry(meta, metaLabels, labelManagedBy)),
		// The v1.21 controller wrote "warning" and left nothing out
		// (pkg/controller/endpoint, setOverCapacityAnnotation).
		Truncated: string(r.entry(meta, metaAnnotations, overCapacity)) == "truncated",
		Writer:    r.writer(meta, "", subsetsPath),
		Addresses: r.subsets(data),
	}
}

// Fields of EndpointSubset.
const (
	subsetReady    = 1
	subsetNotReady = 2
)

// subsets makes one address of all places in which the subsets have it: it is in
// several when its ports are not those of its neighbours (pods with named ports), or when
// somebody wrote it as ready on one port and not ready on another. Such an address is
// in rotation still, so it is ready if it is ready anywhere.
func (r *Reader) subsets(data []byte) []event.Address {
	number := 0
	m := r.message(data)
	for m.next() {
		if m.number == 2 {
			number += r.count(m.bytes, subsetReady) + r.count(m.bytes, subsetNotReady)
		}
	}
	if number == 0 {
		return nil
	}
	all := merged{addresses: make([]event.Address, 0, number), places: r.emptyPlaces()}
	m = r.message(data)
	for m.next() {
		if m.number == 2 {
			r.subset(m.bytes, &all)
		}
	}
	return all.addresses
}

// subset adds the ready ones first, wherever they stand.
func (r *Reader) subset(data []byte, all *merged) {
	for _, number := range [...]int32{subsetReady, subsetNotReady} {
		m := r.message(data)
		for m.next() {
			if int32(m.number) == number {
				all.add(r.subsetAddress(m.bytes), number == subsetReady)
			}
		}
	}
}

// merged are addresses, each once.
type merged struct {
	addresses []event.Address
	places    map[event.UID]int
}

// manyPlaces are more addresses than a controller writes into Endpoints: memory for them is not kept.
const manyPlaces = 1000

// emptyPlaces is the memory of the Endpoints that were read before: most Services have few addresses, and a map for
// each of their events would be as much garbage as the addresses themselves.
func (r *Reader) emptyPlaces() map[event.UID]int {
	if r.places == nil || len(r.places) > manyPlaces {
		r.places = map[event.UID]int{}
	}
	clear(r.places)
	return r.places
}

func (all *merged) add(address event.Address, ready bool) {
	place, found := all.places[address.UID]
	if !found {
		place = len(all.addresses)
		all.places[address.UID] = place
		all.addresses = append(all.addresses, address)
	}
	if ready {
		all.addresses[place].Ready = true
	}
}

func (r *Reader) subsetAddress(data []byte) event.Address {
	var ip, target, node []byte
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			ip = m.bytes
		case 2:
			target = m.bytes
		case 4:
			node = m.bytes
		}
	}
	return r.address(ip, target, node)
}

// address is one whose target is nil if it has none, and empty if that says nothing.
func (r *Reader) address(ip, target, node []byte) event.Address {
	address := event.Address{IP: r.text(ip), Node: r.text(node), ByHand: target == nil}
	if uid := r.field(target, 4); len(uid) > 0 {
		address.UID = event.ParseUID(uid)
	} else {
		address.UID = event.AddressUID(address.IP)
	}
	return address
}
