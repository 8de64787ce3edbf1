package kube

import (
	corev1 "k8s.io/api/core/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// labelManagedBy is on what the endpoints controller of v1.33 or later has written
// (pkg/controller/endpoint, LabelManagedBy).
const labelManagedBy = "endpoints.kubernetes.io/managed-by"

func slimEndpoints(endpoints *corev1.Endpoints) *event.Endpoints {
	return &event.Endpoints{
		Meta:      slimMeta(&endpoints.ObjectMeta),
		ManagedBy: endpoints.Labels[labelManagedBy],
		// The v1.21 controller wrote "warning" and left nothing out
		// (pkg/controller/endpoint, setOverCapacityAnnotation).
		Truncated: endpoints.Annotations[corev1.EndpointsOverCapacity] == "truncated",
		Writer:    subsetsWriter(endpoints.ManagedFields),
		Addresses: subsetAddresses(endpoints.Subsets),
	}
}

// subsetAddresses makes one address of all places in which the subsets have it: it is in
// several when its ports are not those of its neighbours (pods with named ports), or when
// somebody wrote it as ready on one port and not ready on another. Such an address is
// in rotation still, so it is ready if it is ready anywhere.
func subsetAddresses(subsets []corev1.EndpointSubset) []event.Address {
	number := 0
	for i := range subsets {
		number += len(subsets[i].Addresses) + len(subsets[i].NotReadyAddresses)
	}
	if number == 0 {
		return nil
	}
	addresses := make([]event.Address, 0, number)
	places := make(map[event.UID]int, number)
	add := func(from *corev1.EndpointAddress) *event.Address {
		address := newAddress(from.IP, from.TargetRef)
		place, found := places[address.UID]
		if !found {
			place = len(addresses)
			places[address.UID] = place
			address.Node = or(from.NodeName, "")
			addresses = append(addresses, address)
		}
		return &addresses[place]
	}
	for i := range subsets {
		for j := range subsets[i].Addresses {
			address := add(&subsets[i].Addresses[j])
			address.Ready, address.Serving = true, true
		}
		for j := range subsets[i].NotReadyAddresses {
			add(&subsets[i].NotReadyAddresses[j])
		}
	}
	return addresses
}
