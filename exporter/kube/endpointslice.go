package kube

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func slimEndpointSlice(slice *discoveryv1.EndpointSlice) *event.EndpointSlice {
	slim := &event.EndpointSlice{
		Meta:      slimMeta(&slice.ObjectMeta),
		Service:   slice.Labels[discoveryv1.LabelServiceName],
		Owner:     owningService(slice.OwnerReferences),
		ManagedBy: slice.Labels[discoveryv1.LabelManagedBy],
		Writer:    endpointsWriter(slice.ManagedFields),
	}
	if len(slice.Endpoints) > 0 {
		slim.Addresses = make([]event.Address, 0, len(slice.Endpoints))
	}
	for i := range slice.Endpoints {
		// The API wants at least one address; without any there is nothing to reach.
		if endpoint := &slice.Endpoints[i]; len(endpoint.Addresses) > 0 {
			slim.Addresses = append(slim.Addresses, sliceAddress(endpoint))
		}
	}
	return slim
}

// sliceAddress makes one address of an endpoint, also if it lists several: the API
// calls them fungible, and consumers such as kube-proxy use the first alone.
func sliceAddress(endpoint *discoveryv1.Endpoint) event.Address {
	address := newAddress(endpoint.Addresses[0], endpoint.TargetRef)
	address.Node = or(endpoint.NodeName, "")
	// What is not set is read as discovery/v1 documents it (EndpointConditions).
	address.Ready = or(endpoint.Conditions.Ready, true)
	address.Serving = or(endpoint.Conditions.Serving, address.Ready)
	address.Terminating = or(endpoint.Conditions.Terminating, false)
	return address
}

func newAddress(ip string, target *corev1.ObjectReference) event.Address {
	address := event.Address{IP: ip, ByHand: target == nil}
	if target != nil && target.UID != "" {
		address.UID = event.ParseUID(string(target.UID))
	} else {
		address.UID = event.AddressUID(ip)
	}
	return address
}

// owningService is zero for a mirrored slice: that is owned by its Endpoints
// (pkg/controller/endpointslicemirroring, newEndpointSlice).
func owningService(owners []metav1.OwnerReference) event.UID {
	for i := range owners {
		if owners[i].Kind == "Service" && owners[i].APIVersion == "v1" {
			return event.ParseUID(string(owners[i].UID))
		}
	}
	return event.UID{}
}

// or is the value that the pointer points to, or else the given one.
func or[T any](pointer *T, otherwise T) T {
	if pointer == nil {
		return otherwise
	}
	return *pointer
}
