package truth

import (
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

func (s *state) applyEndpoints(object *corev1.Endpoints, gone bool, seen time.Time) {
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	before := handWritten(s.endpoints[key])
	if gone {
		delete(s.endpoints, key)
	} else {
		s.endpoints[key] = object
	}
	after := handWritten(s.endpoints[key])
	if s.services[key] == nil {
		return
	}
	if besidePods := s.besidePods(key); before > 0 && after == 0 && !besidePods {
		s.noteReset(key, seen)
	}
}

func (s *state) noteReset(key types.NamespacedName, seen time.Time) {
	fact := Fact{Seen: seen, Kind: FactReset, Object: key.String(), To: "no_selector"}
	if s.services[key].selector {
		fact.To = "selector"
	}
	s.note(fact)
}

// besidePods updates the number of addresses that refer to pods. It returns true if the Service has a selector, and at
// least one of its addresses referred to a pod before or after this change. In such a Service, the removal of an
// address without a pod is a repair, and does not count as a reset.
func (s *state) besidePods(key types.NamespacedName) bool {
	svc := s.services[key]
	before := svc.derived
	svc.derived = s.derived(key, svc.uid)
	return svc.selector && before+svc.derived > 0
}

// eachEndpoint calls the function do with each endpoint in the slices of a Service, and with the manager of its slice. It
// skips slices of an earlier Service with the same name.
func (s *state) eachEndpoint(key types.NamespacedName, uid types.UID, do func(endpoint discoveryv1.Endpoint, manager string)) {
	for _, slice := range s.slices {
		if serviceOf(slice) == key && !ownedByAnother(slice, uid) {
			for _, endpoint := range slice.Endpoints {
				do(endpoint, slice.Labels[discoveryv1.LabelManagedBy])
			}
		}
	}
}

// derived returns how many addresses in the Endpoints and in the slices refer to pods.
func (s *state) derived(key types.NamespacedName, uid types.UID) int {
	n := 0
	if object := s.endpoints[key]; object != nil {
		for _, subset := range object.Subsets {
			n += len(subset.Addresses) + len(subset.NotReadyAddresses)
		}
		n -= handWritten(object)
	}
	s.eachEndpoint(key, uid, func(endpoint discoveryv1.Endpoint, _ string) {
		if endpoint.TargetRef != nil {
			n++
		}
	})
	return n
}

const sliceController = "endpointslice-controller.k8s.io"

// removable returns how many manually managed addresses a controller could remove from slices. If the Service has a
// selector, the only such controller is the endpointslice controller, which changes only its own slices.
func (svc *service) removable() int {
	if svc.selector {
		return svc.ownMade
	}
	return svc.handMade
}

// handMade counts, in the slices of a Service, the addresses that do not refer to a pod. It omits mirrored slices,
// because they only repeat the Endpoints. The result own is the number of these addresses in slices of the
// endpointslice controller.
func (s *state) handMade(key types.NamespacedName, uid types.UID) (n, own int) {
	s.eachEndpoint(key, uid, func(endpoint discoveryv1.Endpoint, manager string) {
		if endpoint.TargetRef != nil || manager == "endpointslicemirroring-controller.k8s.io" {
			return
		}
		n++
		if manager == sliceController {
			own++
		}
	})
	return n, own
}

// handWritten returns the number of addresses that do not refer to a pod.
func handWritten(object *corev1.Endpoints) int {
	n := 0
	if object == nil {
		return n
	}
	for _, subset := range object.Subsets {
		for _, addresses := range [][]corev1.EndpointAddress{subset.Addresses, subset.NotReadyAddresses} {
			for _, address := range addresses {
				if address.TargetRef == nil {
					n++
				}
			}
		}
	}
	return n
}
