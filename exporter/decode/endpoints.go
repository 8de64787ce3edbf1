package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Labels and annotations of Endpoints and EndpointSlices.
const (
	// overCapacity is corev1.EndpointsOverCapacity.
	overCapacity = "endpoints.kubernetes.io/over-capacity"
	// labelService and labelSliceManagedBy are LabelServiceName and LabelManagedBy in discovery/v1.
	labelService        = "kubernetes.io/service-name"
	labelSliceManagedBy = "endpointslice.kubernetes.io/managed-by"
	// lastAppliedAnnotation is corev1.LastAppliedConfigAnnotation. It holds the JSON of the object that kubectl apply
	// last sent.
	lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration"
)

// Lists of EndpointSlice, Endpoints, EndpointSubset and ServiceSpec.
const (
	sliceEndpoints   = 2
	endpointsSubsets = 2
	subsetReady      = 1
	subsetNotReady   = 2
	serviceSelector  = 2
)

func (r *Reader) endpointSlice(x encoded) *event.EndpointSlice {
	writer, _ := r.writers(x.meta, "f:endpoints")
	slice := &event.EndpointSlice{
		Meta:      r.meta(x.meta),
		Service:   r.text(r.entry(x.meta, metaLabels, labelService)),
		Owner:     r.owningService(x.meta),
		ManagedBy: r.text(r.entry(x.meta, metaLabels, labelSliceManagedBy)),
		Writer:    r.text(writer),
	}
	if n := r.count(x.all, sliceEndpoints); n > 0 {
		slice.Addresses = make([]event.Address, 0, n)
	}
	for value := range r.list(x.all, sliceEndpoints) {
		// An endpoint without an address is malformed. The API server's validation requires an address.
		if f := r.fields(value); f[1] != nil {
			slice.Addresses = append(slice.Addresses, r.sliceAddress(f))
		}
	}
	return slice
}

// sliceAddress returns the first address of an endpoint. The API defines all addresses of an endpoint as fungible.
// kube-proxy and other consumers use only the first.
func (r *Reader) sliceAddress(endpoint fields) event.Address {
	address, conditions := r.address(endpoint[1], endpoint[4]), r.fields(endpoint[2])
	ready := conditions[1]
	address.Ready = ready == nil || boolean(ready) // see discoveryv1.EndpointConditions
	address.Terminating = boolean(conditions[3])
	return address
}

// owningService returns the UID of the Service that owns a slice. It returns zero for a mirrored slice, which is owned
// by an Endpoints object (see newEndpointSlice in pkg/controller/endpointslicemirroring).
func (w *wire) owningService(meta []byte) event.UID {
	for value := range w.list(meta, metaOwners) {
		if o := w.fields(value); string(o[ownerKind]) == "Service" && string(o[ownerAPIVersion]) == "v1" {
			return event.ParseUID(o[ownerUID])
		}
	}
	return event.UID{}
}

func (r *Reader) endpoints(x encoded) *event.Endpoints {
	writer, other := r.writers(x.meta, "f:subsets")
	return &event.Endpoints{
		Meta: r.meta(x.meta),
		// In v1.21, the controller set this annotation to "warning" and wrote all addresses (see
		// setOverCapacityAnnotation in pkg/controller/endpoint).
		Truncated:   string(r.entry(x.meta, metaAnnotations, overCapacity)) == "truncated",
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
	n := 0
	for subset := range r.list(data, endpointsSubsets) {
		n += r.count(subset, subsetReady) + r.count(subset, subsetNotReady)
	}
	if n == 0 {
		return nil
	}
	if r.places == nil || len(r.places) > maxPlaces {
		r.places = map[event.UID]int{}
	}
	clear(r.places)
	all := make([]event.Address, 0, n)
	for subset := range r.list(data, endpointsSubsets) {
		all = r.subset(all, subset)
	}
	return all
}

// subset adds the addresses of a subset. In the subset, the ready addresses come first.
func (r *Reader) subset(all []event.Address, data []byte) []event.Address {
	for number, value := range r.each(data) {
		if number != subsetReady && number != subsetNotReady {
			continue
		}
		f := r.fields(value)
		address := r.address(f[1], f[2])
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

// address converts an address. It does not set Ready. targetRef is nil only if the field is absent. IPs are not cached,
// because they would displace texts that repeat more often.
func (w *wire) address(ip, targetRef []byte) event.Address {
	address := event.Address{IP: string(ip), ByHand: targetRef == nil}
	if uid := w.field(targetRef, 4); len(uid) > 0 {
		address.UID = event.ParseUID(uid)
	} else {
		address.UID = event.AddressUID(address.IP)
	}
	return address
}

func (r *Reader) service(x encoded) *event.Service {
	service := &event.Service{Meta: r.meta(x.meta), Type: r.text(r.field(x.spec, 4)), PublishNotReady: boolean(r.field(x.spec, 13))}
	if r.count(x.spec, serviceSelector) > 0 {
		service.Selector = r.entries(x.spec, serviceSelector)
	}
	return service
}
