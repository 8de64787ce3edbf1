package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Labels of slices. They are LabelServiceName and LabelManagedBy in discovery/v1.
const (
	labelService        = "kubernetes.io/service-name"
	labelSliceManagedBy = "endpointslice.kubernetes.io/managed-by"
)

// Fields of EndpointSlice and Endpoint.
const (
	sliceEndpoints      = 2
	endpointAddresses   = 1
	endpointConditions  = 2
	endpointTargetRef   = 4
	endpointNodeName    = 6
	conditionReady      = 1
	conditionTerminates = 3
)

func (r *Reader) endpointSlice(data, metaData []byte, meta event.Meta) *event.EndpointSlice {
	writer, other := r.writers(metaData, "", endpointsPath)
	return &event.EndpointSlice{
		Meta:        meta,
		Service:     r.text(r.entry(metaData, metaLabels, labelService)),
		Owner:       r.owningService(metaData),
		ManagedBy:   r.text(r.entry(metaData, metaLabels, labelSliceManagedBy)),
		Writer:      r.text(writer),
		LastApplied: r.lastApplied(metaData, "endpoints"),
		OtherWriter: r.text(other),
		Addresses:   r.sliceAddresses(data),
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
		// An endpoint without an address is malformed. The API server's validation requires an address.
		if address, found := r.sliceAddress(m.bytes); found {
			addresses = append(addresses, address)
		}
	}
	return addresses
}

// sliceAddress returns the first address of an endpoint. The API defines all addresses of an endpoint as fungible.
// kube-proxy and other consumers use only the first.
func (r *Reader) sliceAddress(data []byte) (address event.Address, found bool) {
	var ip, conditions, targetRef, node []byte
	m := r.message(data)
	for m.next() {
		switch m.number {
		case endpointAddresses:
			if !found {
				ip, found = m.bytes, true
			}
		case endpointConditions:
			conditions = m.bytes
		case endpointTargetRef:
			targetRef = m.bytes
		case endpointNodeName:
			node = m.bytes
		}
	}
	if !found {
		return address, false
	}
	address = r.address(ip, targetRef, node)
	address.Ready = true // this is the default if the condition is not set (see discoveryv1.EndpointConditions)
	m = r.message(conditions)
	for m.next() {
		switch m.number {
		case conditionReady:
			address.Ready = m.bool()
		case conditionTerminates:
			address.Terminating = m.bool()
		}
	}
	return address, true
}

// owningService returns the UID of the Service that owns a slice. It returns zero for a mirrored slice, which is owned
// by an Endpoints object (see newEndpointSlice in pkg/controller/endpointslicemirroring).
func (r *fieldReader) owningService(metaData []byte) event.UID {
	m := r.message(metaData)
	for m.next() {
		if m.number == metaOwners {
			if o := r.owner(m.bytes); string(o.kind) == "Service" && string(o.apiVersion) == "v1" {
				return event.ParseUID(o.uid)
			}
		}
	}
	return event.UID{}
}
