package decode

import "github.com/kubeflap/kubeflap/exporter/event"

const (
	// labelManagedBy is on the Endpoints that the endpoints controller of v1.33 or later wrote (pkg/controller/endpoint,
	// LabelManagedBy).
	labelManagedBy = "endpoints.kubernetes.io/managed-by"
	// overCapacity is corev1.EndpointsOverCapacity.
	overCapacity = "endpoints.kubernetes.io/over-capacity"
)

// Fields of Endpoints and EndpointSubset.
const (
	endpointsSubsets = 2
	subsetReady      = 1
	subsetNotReady   = 2
)

func (r *Reader) endpoints(data, metaData []byte, meta event.Meta) *event.Endpoints {
	writer, other := r.writers(metaData, "", subsetsPath)
	return &event.Endpoints{
		Meta:      meta,
		ManagedBy: r.text(r.entry(metaData, metaLabels, labelManagedBy)),
		// The v1.21 controller wrote "warning" and left no address out (pkg/controller/endpoint, setOverCapacityAnnotation).
		Truncated:   string(r.entry(metaData, metaAnnotations, overCapacity)) == "truncated",
		Writer:      r.text(writer),
		LastApplied: r.lastApplied(metaData, "subsets"),
		OtherWriter: r.text(other),
		Addresses:   r.subsets(data),
	}
}

// subsets returns each address once. Several subsets have it if its ports differ from those of the other addresses (pods with
// named ports), or if somebody wrote it as ready on one port and not ready on another. Such an address still gets traffic, so
// it is ready if it is ready in any subset.
func (r *Reader) subsets(data []byte) []event.Address {
	number := 0
	m := r.message(data)
	for m.next() {
		if m.number == endpointsSubsets {
			number += r.count(m.bytes, subsetReady) + r.count(m.bytes, subsetNotReady)
		}
	}
	if number == 0 {
		return nil
	}
	r.clearPlaces()
	all := make([]event.Address, 0, number)
	m = r.message(data)
	for m.next() {
		if m.number == endpointsSubsets {
			all = r.subset(all, m.bytes, subsetReady)
			all = r.subset(all, m.bytes, subsetNotReady)
		}
	}
	return all
}

// subset adds the ready addresses of a subset, or those that are not ready.
func (r *Reader) subset(all []event.Address, data []byte, number int32) []event.Address {
	m := r.message(data)
	for m.next() {
		if int32(m.number) != number {
			continue
		}
		var ip, targetRef, node []byte
		r.take(m.bytes, into{1, &ip}, into{2, &targetRef}, into{4, &node})
		address := r.address(ip, targetRef, node)
		place, found := r.places[address.UID]
		if !found {
			place = len(all)
			r.places[address.UID] = place
			all = append(all, address)
		}
		if number == subsetReady {
			all[place].Ready = true
		}
	}
	return all
}

// maxPlaces is how many addresses a controller writes into Endpoints at most. The memory for more is not kept.
const maxPlaces = 1000

// clearPlaces reuses the memory of the last Endpoints. Most Services have few addresses, and a new map for each event would be
// as much garbage as the addresses themselves.
func (r *Reader) clearPlaces() {
	if r.places == nil || len(r.places) > maxPlaces {
		r.places = map[event.UID]int{}
	}
	clear(r.places)
}

// address makes an Address that is not ready. The targetRef is nil if it is absent, and empty if it has no fields.
func (r *Reader) address(ip, targetRef, node []byte) event.Address {
	address := event.Address{IP: r.text(ip), Node: r.text(node), ByHand: targetRef == nil}
	if uid := r.field(targetRef, 4); len(uid) > 0 {
		address.UID = event.ParseUID(uid)
	} else {
		address.UID = event.AddressUID(address.IP)
	}
	return address
}
