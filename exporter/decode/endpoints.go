package decode

import "github.com/kubeflap/kubeflap/exporter/event"

const (
	// labelManagedBy is a label that the endpoints controller has set on Endpoints since v1.33 (see LabelManagedBy in
	// pkg/controller/endpoint).
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
		// In v1.21, the controller set this annotation to "warning" and wrote all addresses (see
		// setOverCapacityAnnotation in pkg/controller/endpoint).
		Truncated:   string(r.entry(metaData, metaAnnotations, overCapacity)) == "truncated",
		Writer:      r.text(writer),
		LastApplied: r.lastApplied(metaData, "subsets"),
		OtherWriter: r.text(other),
		Addresses:   r.subsets(data),
	}
}

// subsets returns each address once. All addresses of a subset have the same ports, so an address can be in several
// subsets. For example, pods can resolve a named port to different numbers. An address that is ready in any subset gets
// traffic, so it is returned as ready.
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

// subset adds the ready or the not-ready addresses of a subset. `number` is subsetReady or subsetNotReady.
func (r *Reader) subset(all []event.Address, data []byte, number int32) []event.Address {
	m := r.message(data)
	for m.next() {
		if int32(m.number) != number {
			continue
		}
		var ip, targetRef, node []byte
		r.readFields(m.bytes, fieldTarget{1, &ip}, fieldTarget{2, &targetRef}, fieldTarget{4, &node})
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

// maxPlaces is the maximum number of addresses that the endpoints controller writes to one Endpoints object. A map with
// more addresses is not reused.
const maxPlaces = 1000

// clearPlaces empties r.places for the next Endpoints object. A new map for each event would need as much memory as the
// few addresses of a typical Service.
func (r *Reader) clearPlaces() {
	if r.places == nil || len(r.places) > maxPlaces {
		r.places = map[event.UID]int{}
	}
	clear(r.places)
}

// address converts an address. It does not set Ready. targetRef is nil only if the field is absent.
func (r *Reader) address(ip, targetRef, node []byte) event.Address {
	address := event.Address{IP: r.text(ip), Node: r.text(node), ByHand: targetRef == nil}
	if uid := r.field(targetRef, 4); len(uid) > 0 {
		address.UID = event.ParseUID(uid)
	} else {
		address.UID = event.AddressUID(address.IP)
	}
	return address
}
