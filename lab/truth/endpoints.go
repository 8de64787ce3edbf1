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
	s.noticeHandWritten(key)
	svc := s.services[key]
	if svc == nil || s.quiet {
		return
	}
	// If pods match the selector, the controller put right what somebody had edited.
	restored := svc.selector && s.derived(key, svc.uid) > 0
	if before > 0 && after == 0 && !restored {
		svc.resets[svc.selector]++
		s.note(seen, "service %s: hand-written addresses reset", key)
	}
}

// derived is the number of addresses that stand for pods, in the Endpoints and in the slices.
func (s *state) derived(key types.NamespacedName, uid types.UID) int {
	n := 0
	if object := s.endpoints[key]; object != nil {
		for _, subset := range object.Subsets {
			n += len(subset.Addresses) + len(subset.NotReadyAddresses)
		}
		n -= handWritten(object)
	}
	for _, slice := range s.slices {
		if serviceOf(slice) != key || ownedByAnother(slice, uid) {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef != nil {
				n++
			}
		}
	}
	return n
}

// handMade is the number of such addresses in slices that someone made by hand.
// Mirrored slices only repeat the Endpoints object.
func (s *state) handMade(key types.NamespacedName, uid types.UID) int {
	n := 0
	for _, slice := range s.slices {
		if serviceOf(slice) != key || ownedByAnother(slice, uid) ||
			slice.Labels[discoveryv1.LabelManagedBy] == "endpointslicemirroring-controller.k8s.io" {
			continue
		}
		for _, endpoint := range slice.Endpoints {
			if endpoint.TargetRef == nil {
				n++
			}
		}
	}
	return n
}

// noticeHandWritten makes the counter of resets exist before the first reset.
func (s *state) noticeHandWritten(key types.NamespacedName) {
	if svc := s.services[key]; svc != nil && handWritten(s.endpoints[key])+svc.handMade > 0 {
		svc.resets[svc.selector] += 0
	}
}

// handWritten is the number of addresses that no controller derived from a pod.
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
