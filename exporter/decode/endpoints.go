package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Labels and annotations of Endpoints and EndpointSlices.
const (
	// labelManagedBy is a label that the endpoints controller has set on Endpoints since v1.33 (see LabelManagedBy in
	// pkg/controller/endpoint).
	labelManagedBy = "endpoints.kubernetes.io/managed-by"
	// overCapacity is corev1.EndpointsOverCapacity.
	overCapacity = "endpoints.kubernetes.io/over-capacity"
	// labelService and labelSliceManagedBy are LabelServiceName and LabelManagedBy in discovery/v1.
	labelService        = "kubernetes.io/service-name"
	labelSliceManagedBy = "endpointslice.kubernetes.io/managed-by"
	// lastAppliedAnnotation is corev1.LastAppliedConfigAnnotation. It holds the JSON of the object that kubectl apply
	// last sent.
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
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

// Fields of Endpoints and EndpointSubset.
const (
	endpointsSubsets = 2
	subsetReady      = 1
	subsetNotReady   = 2
)

func (r *Reader) endpointSlice(x encoded) *event.EndpointSlice {
	writer, other := r.writers(x.meta, "", endpointsPath)
	slice := &event.EndpointSlice{
		Meta:        r.meta(x.meta),
		Service:     r.text(r.entry(r.list(x.meta, metaLabels), labelService)),
		Owner:       r.owningService(x.meta),
		ManagedBy:   r.text(r.entry(r.list(x.meta, metaLabels), labelSliceManagedBy)),
		Writer:      r.text(writer),
		LastApplied: r.lastApplied(x.meta, "endpoints"),
		OtherWriter: r.text(other),
	}
	endpoints := r.list(x.all, sliceEndpoints)
	if n := endpoints.len(); n > 0 {
		slice.Addresses = make([]event.Address, 0, n)
	}
	for value := range endpoints.each {
		// An endpoint without an address is malformed. The API server's validation requires an address.
		if f := r.fields(value); f[endpointAddresses] != nil {
			slice.Addresses = append(slice.Addresses, r.sliceAddress(f))
		}
	}
	return slice
}

// sliceAddress returns the first address of an endpoint. The API defines all addresses of an endpoint as fungible.
// kube-proxy and other consumers use only the first.
func (r *Reader) sliceAddress(endpoint fields) event.Address {
	address := r.address(endpoint[endpointAddresses], endpoint[endpointTargetRef], endpoint[endpointNodeName])
	conditions := r.fields(endpoint[endpointConditions])
	ready := conditions[conditionReady]
	address.Ready = ready == nil || boolean(ready) // see discoveryv1.EndpointConditions
	address.Terminating = boolean(conditions[conditionTerminates])
	return address
}

// owningService returns the UID of the Service that owns a slice. It returns zero for a mirrored slice, which is owned
// by an Endpoints object (see newEndpointSlice in pkg/controller/endpointslicemirroring).
func (w *wire) owningService(metaData []byte) event.UID {
	for value := range w.list(metaData, metaOwners).each {
		if o := w.fields(value); string(o[ownerKind]) == "Service" && string(o[ownerAPIVersion]) == "v1" {
			return event.ParseUID(o[ownerUID])
		}
	}
	return event.UID{}
}

func (r *Reader) endpoints(x encoded) *event.Endpoints {
	writer, other := r.writers(x.meta, "", subsetsPath)
	return &event.Endpoints{
		Meta:      r.meta(x.meta),
		ManagedBy: r.text(r.entry(r.list(x.meta, metaLabels), labelManagedBy)),
		// In v1.21, the controller set this annotation to "warning" and wrote all addresses (see
		// setOverCapacityAnnotation in pkg/controller/endpoint).
		Truncated:   string(r.entry(r.list(x.meta, metaAnnotations), overCapacity)) == "truncated",
		Writer:      r.text(writer),
		LastApplied: r.lastApplied(x.meta, "subsets"),
		OtherWriter: r.text(other),
		Addresses:   r.subsets(x.all),
	}
}

// maxPlaces is the maximum number of addresses that the endpoints controller writes to one Endpoints object. A map with
// more addresses is not reused. A new map for each event would need as much memory as the few addresses of a typical
// Service.
const maxPlaces = 1000

// subsets returns each address once. All addresses of a subset have the same ports, so an address can be in several
// subsets. For example, pods can resolve a named port to different numbers. An address that is ready in any subset gets
// traffic, so it is returned as ready.
func (r *Reader) subsets(data []byte) []event.Address {
	subsets, n := r.list(data, endpointsSubsets), 0
	for subset := range subsets.each {
		n += r.list(subset, subsetReady).len() + r.list(subset, subsetNotReady).len()
	}
	if n == 0 {
		return nil
	}
	if r.places == nil || len(r.places) > maxPlaces {
		r.places = map[event.UID]int{}
	}
	clear(r.places)
	all := make([]event.Address, 0, n)
	for subset := range subsets.each {
		all = r.subset(all, subset)
	}
	return all
}

// subset adds the addresses of a subset. In the subset, the ready addresses come first.
func (r *Reader) subset(all []event.Address, data []byte) []event.Address {
	for number, value := range r.message(data).each {
		if number != subsetReady && number != subsetNotReady {
			continue
		}
		f := r.fields(value)
		address := r.address(f[1], f[2], f[4])
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

// Fields of ServiceSpec.
const (
	serviceSelector        = 2
	serviceType            = 4
	servicePublishNotReady = 13
)

func (r *Reader) service(x encoded) *event.Service {
	service := &event.Service{
		Meta: r.meta(x.meta), Type: r.text(r.field(x.spec, serviceType)), PublishNotReady: boolean(r.field(x.spec, servicePublishNotReady)),
	}
	if selector := r.list(x.spec, serviceSelector); selector.len() > 0 {
		service.Selector = r.entries(selector)
	}
	return service
}
