package truth

import (
	"maps"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/types"
)

// The recorder does not know the causes and classes of lost addresses. It therefore counts only these aggregations over
// all causes or classes, by namespace and service.
const (
	AddressesLost    = "sum(kubeflap_service_addresses_lost_total)"
	Outages          = "sum(kubeflap_service_outages_total)"
	LossesOfAnyCause = "sum(kubeflap_service_address_losses_total)"
	LastLoss         = "max(kubeflap_service_last_loss_timestamp_seconds)"
	LastLossSeries   = "count(kubeflap_service_last_loss_timestamp_seconds)"
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

// member reports whether the address belongs to the Service. Terminating addresses do not.
func (s addressState) member() bool { return s == notReady || s == ready }

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
	// foreign holds the addresses in slices that the endpointslice controller does not manage. It is empty if the
	// Service has no selector.
	foreign map[string]bool

	flips   map[addressState]int
	outages int
	// lost is the number of times that a ready address became not ready or disappeared. lastLost is the time of the
	// latest such change. For lastLost, the removal of a foreign address does not count if the Service still had ready
	// addresses.
	lost     int
	lastLost time.Time
	// resets counts the resets of manually managed addresses. The key says whether the Service had a selector at the
	// time of the reset. A key exists as soon as the Service has had a manually managed address.
	resets map[bool]int
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
		svc = &service{
			uid: object.UID, addresses: map[string]addressState{}, flips: map[addressState]int{}, resets: map[bool]int{},
		}
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
	made, foreign, lastLost := svc.removable(), svc.foreign, svc.lastLost
	svc.handMade, svc.ownMade = s.handMade(key, svc.uid)
	svc.foreign = s.foreign(key, svc)
	s.noticeHandWritten(key)
	besidePods := s.besidePods(key)
	if s.inBaseline {
		return
	}
	if made > 0 && svc.removable() == 0 && !besidePods {
		svc.resets[svc.selector]++
		s.noteReset(key, seen)
	}
	all := maps.Clone(before)
	maps.Copy(all, after)
	for id := range all {
		svc.count(before[id], after[id], seen)
		if foreign[id] && after[id] == absent && readyOnes(after) > 0 {
			svc.lastLost = lastLost
		}
		lastLost = svc.lastLost
		if before[id] != after[id] {
			s.note(Fact{Seen: seen, Kind: FactAddress, Object: key.String(), Address: id, From: before[id].String(), To: after[id].String()})
		}
	}
	if readyOnes(before) > 0 && readyOnes(after) == 0 {
		svc.outages++
		s.note(Fact{Seen: seen, Kind: FactOutage, Object: key.String()})
	}
}

func (svc *service) count(before, after addressState, seen time.Time) {
	if before != after && before.member() && after.member() {
		svc.flips[after]++
	}
	if before == ready && after != ready {
		svc.lost++
		svc.lastLost = seen
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

func readyOnes(addresses map[string]addressState) int { return number(addresses, ready) }

func number(addresses map[string]addressState, of addressState) int {
	n := 0
	for _, s := range addresses {
		if s == of {
			n++
		}
	}
	return n
}

func (svc *service) counts(c Counts, key types.NamespacedName) {
	set := func(value int, name string, label ...string) {
		labels := append([]string{"namespace", key.Namespace, "service", key.Name}, label...)
		c.set(float64(value), "kubeflap_service_"+name, labels...)
	}
	for _, state := range []addressState{ready, notReady, terminating} {
		set(number(svc.addresses, state), "addresses", "state", state.String())
	}
	for _, to := range []addressState{ready, notReady} {
		set(svc.flips[to], "address_flips_total", "to", to.String())
	}
	labels := []string{"namespace", key.Namespace, "service", key.Name}
	c.set(float64(svc.outages), Outages, labels...)
	c.set(float64(svc.lost), AddressesLost, labels...)
	c.set(float64(svc.lost), LossesOfAnyCause, labels...)
	if !svc.lastLost.IsZero() {
		c.set(float64(svc.lastLost.UnixMicro())/1e6, LastLoss, labels...)
		c.set(1, LastLossSeries, labels...)
	}
	for selector, n := range svc.resets {
		set(n, "endpoints_resets_total", "selector", map[bool]string{true: "true", false: "false"}[selector])
	}
}
