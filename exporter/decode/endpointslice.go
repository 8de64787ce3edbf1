package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Labels of slices (discovery/v1, LabelServiceName and LabelManagedBy).
const (
	labelService        = "kubernetes.io/service-name"
	labelSliceManagedBy = "endpointslice.kubernetes.io/managed-by"
)

// sliceEndpoints is the field of EndpointSlice.
const sliceEndpoints = 2

func (r *Reader) endpointSlice(data, meta []byte, slim event.Meta) *event.EndpointSlice {
	return &event.EndpointSlice{
		Meta:      slim,
		Service:   r.text(r.entry(meta, metaLabels, labelService)),
		Owner:     r.owningService(meta),
		ManagedBy: r.text(r.entry(meta, metaLabels, labelSliceManagedBy)),
		Writer:    r.writer(meta, "", endpointsPath),
		Addresses: r.sliceAddresses(data),
	}
}

func (r *Reader) sliceAddresses(data []byte) []event.Address {
	number := r.count(data, sliceEndpoints)
	if number == 0 {
		return nil
	}
	addresses := make([]event.Address, 0, number)
	m := r.message(data)
	for m.next() {
		if m.number != sliceEndpoints {
			continue
		}
		// The API wants at least one address; without any there is nothing to reach.
		if address, any := r.sliceAddress(m.bytes); any {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// sliceAddress makes one address of an endpoint, also if it lists several: the API
// calls them fungible, and consumers such as kube-proxy use the first alone.
func (r *Reader) sliceAddress(data []byte) (address event.Address, any bool) {
	var ip, conditions, target, node []byte
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			if !any {
				ip, any = m.bytes, true
			}
		case 2:
			conditions = m.bytes
		case 4:
			target = m.bytes
		case 6:
			node = m.bytes
		}
	}
	if !any {
		return address, false
	}
	address = r.address(ip, target, node)
	r.endpointConditions(conditions, &address)
	return address, true
}

// endpointConditions reads what is not set as discovery/v1 documents it (EndpointConditions).
func (r *Reader) endpointConditions(data []byte, address *event.Address) {
	address.Ready = true
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			address.Ready = m.bool()
		case 3:
			address.Terminating = m.bool()
		}
	}
}

// owningService is zero for a mirrored slice: that is owned by its Endpoints
// (pkg/controller/endpointslicemirroring, newEndpointSlice).
func (r *Reader) owningService(meta []byte) event.UID {
	m := r.message(meta)
	for m.next() {
		if m.number == metaOwners {
			if o := r.owner(m.bytes); string(o.kind) == "Service" && string(o.apiVersion) == "v1" {
				return event.ParseUID(o.uid)
			}
		}
	}
	return event.UID{}
}
