package truth

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// addressState is the state of an address in its Service. If an address has different states in several slices, the
// highest of these values counts.
type addressState int

const (
	absent addressState = iota
	terminating
	notReady
	ready
)

func (s addressState) String() string {
	return [...]string{"absent", "terminating", "not_ready", "ready"}[s]
}

type service struct {
	uid      types.UID
	selector bool

	addresses map[string]addressState
	// handMade is the number of addresses without a pod, except in mirrored slices. ownMade is the number of these
	// addresses that are in slices of the endpointslice controller. derived is the number of addresses that refer to
	// pods.
	handMade, ownMade, derived int
}

func (s *state) applyService(object *corev1.Service, gone bool, seen time.Time) {
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	svc := s.services[key]
	if svc != nil && (gone || svc.uid != object.UID) {
		s.note(Fact{Seen: seen, Kind: FactService, Object: key.String(), From: string(svc.uid), To: absentState})
	}
	if gone {
		delete(s.services, key)
		return
	}
	if svc == nil || svc.uid != object.UID {
		svc = &service{uid: object.UID, addresses: map[string]addressState{}}
		s.services[key] = svc
		s.note(Fact{Seen: seen, Kind: FactService, Object: key.String(), From: absentState, To: string(svc.uid)})
	}
	svc.selector = len(object.Spec.Selector) > 0
	s.recompute(key, seen)
}

func (s *state) applySlice(object *discoveryv1.EndpointSlice, gone bool, seen time.Time) {
	key := types.NamespacedName{Namespace: object.Namespace, Name: object.Name}
	old := s.slices[key]
	if gone {
		delete(s.slices, key)
	} else {
		s.slices[key] = object
	}
	if old != nil {
		s.recompute(serviceOf(old), seen)
	}
	s.recompute(serviceOf(object), seen)
}

func serviceOf(slice *discoveryv1.EndpointSlice) types.NamespacedName {
	return types.NamespacedName{Namespace: slice.Namespace, Name: slice.Labels[discoveryv1.LabelServiceName]}
}

// recompute computes the addresses of a Service from its slices, and counts the changes.
func (s *state) recompute(key types.NamespacedName, seen time.Time) {
	svc := s.services[key]
	if svc == nil {
		return
	}
	before, after := svc.addresses, s.addressesOf(key, svc.uid)
	svc.addresses = after
	made := svc.removable()
	svc.handMade, svc.ownMade = s.handMade(key, svc.uid)
	besidePods := s.besidePods(key)
	if s.inBaseline {
		return
	}
	if made > 0 && svc.removable() == 0 && !besidePods {
		s.noteReset(key, seen)
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for id := range all {
		if before[id] != after[id] {
			s.note(Fact{Seen: seen, Kind: FactAddress, Object: key.String(), Address: id, From: before[id].String(), To: after[id].String()})
		}
	}
	if number(before, ready) > 0 && number(after, ready) == 0 {
		s.note(Fact{Seen: seen, Kind: FactOutage, Object: key.String()})
	}
}

// addressesOf merges the addresses of all slices of a Service.
func (s *state) addressesOf(key types.NamespacedName, uid types.UID) map[string]addressState {
	addresses := map[string]addressState{}
	s.eachEndpoint(key, uid, func(endpoint discoveryv1.Endpoint, _ string) {
		id := identity(endpoint)
		addresses[id] = max(addresses[id], addressStateOf(endpoint.Conditions))
	})
	return addresses
}

func ownedByAnother(slice *discoveryv1.EndpointSlice, uid types.UID) bool {
	for _, owner := range slice.OwnerReferences {
		if owner.Kind == "Service" {
			return owner.UID != uid
		}
	}
	return false
}

func identity(endpoint discoveryv1.Endpoint) string {
	if endpoint.TargetRef != nil && endpoint.TargetRef.UID != "" {
		return string(endpoint.TargetRef.UID)
	}
	return endpoint.Addresses[0]
}

// addressStateOf applies the API's defaults. An address without conditions is ready and not terminating.
func addressStateOf(c discoveryv1.EndpointConditions) addressState {
	switch {
	case c.Ready == nil || *c.Ready:
		return ready
	case c.Terminating == nil || !*c.Terminating:
		return notReady
	default:
		return terminating
	}
}

func number(addresses map[string]addressState, of addressState) int {
	n := 0
	for _, s := range addresses {
		if s == of {
			n++
		}
	}
	return n
}
