package whatif

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// services holds the Services of a recording, and the changes of their addresses.
type services struct {
	pods *pods
	// kind is the kind of the objects that contain the addresses. It is EndpointSlice, or Endpoints if EndpointSlices
	// were unavailable.
	kind    event.Kind
	byName  map[serviceName]*service
	changes []change
	// outagesBefore is the number of Services that had no ready address when the recording began.
	outagesBefore int
}

func newServices(p *pods) services {
	return services{pods: p, kind: event.KindEndpointSlice, byName: map[serviceName]*service{}}
}

type serviceName struct{ namespace, name string }

// service is a Service with its addresses.
type service struct {
	serviceName
	publishNotReady bool
	// slices maps the name of each EndpointSlice to its addresses.
	slices    map[string]map[event.UID]event.Address
	addresses map[event.UID]*address
	// The slice kept holds the addresses that were removed because their pods were evicted.
	kept []*address
}

// address is a Service address.
type address struct {
	service *service
	id      event.UID
	node    string
	pod     *pod
	// apart is set if the address stays ready when its node becomes Unknown.
	apart bool
	// ready is set if the address is ready in the recording. held is set if the address is unready and the only reason
	// is that its node is Unknown.
	ready, held bool
	// left is set if the address was held when it was removed from the Service. kept is set if the address was removed
	// because its pod was evicted.
	left, kept bool
	// standsFor is the address that this address replaced after an eviction, or nil.
	standsFor *address
	// services.changes[last-1] is the newest change of the address. If there is no change, last is 0.
	last int
}

// change is a recorded change of an address. ready is set if the address was ready after the change. base is set if the
// address would have been ready without any Unknown nodes.
type change struct {
	at          time.Time
	address     *address
	ready, base bool
	// first is set if the change comes from the first list. gone is set if the Service was deleted.
	first, gone bool
}

func (s *services) named(name serviceName) *service {
	x := s.byName[name]
	if x == nil {
		x = &service{serviceName: name, slices: map[string]map[event.UID]event.Address{}, addresses: map[event.UID]*address{}}
		s.byName[name] = x
	}
	return x
}

func (s *services) apply(seen sighting, o *event.Service) {
	name := serviceName{o.Namespace, o.Name}
	if !seen.deleted {
		s.named(name).publishNotReady = o.PublishNotReady
		return
	}
	if x := s.byName[name]; x != nil {
		for _, id := range sortedIDs(x.addresses) {
			s.setReady(x.addresses[id], seen.at, false, change{gone: true})
		}
		for _, a := range x.kept {
			s.setReady(a, seen.at, false, change{gone: true})
		}
		delete(s.byName, name)
	}
}

func (s *services) applySlice(seen sighting, o *event.EndpointSlice) {
	if s.kind == o.Kind() {
		s.update(s.named(serviceName{o.Namespace, o.Service}), seen, o.Name, o.Addresses)
	}
}

// applyEndpoints updates a Service from an Endpoints object, which counts as the Service's only slice.
func (s *services) applyEndpoints(seen sighting, o *event.Endpoints) {
	if s.kind == o.Kind() {
		s.update(s.named(serviceName{o.Namespace, o.Name}), seen, o.Name, o.Addresses)
	}
}

// update replaces the addresses in one of a Service's slices.
func (s *services) update(x *service, seen sighting, slice string, all []event.Address) {
	was := x.slices[slice]
	is := map[event.UID]event.Address{}
	if !seen.deleted {
		for _, a := range all {
			is[a.UID] = a
		}
	}
	x.slices[slice] = is
	touched := map[event.UID]bool{}
	for id := range was {
		touched[id] = true
	}
	for id := range is {
		touched[id] = true
	}
	for _, id := range sortedIDs(touched) {
		s.merge(x, seen, id)
	}
}

// merge recomputes the state of an address. The address is ready if any slice lists it as ready.
func (s *services) merge(x *service, seen sighting, id event.UID) {
	ready, exists, a := false, false, x.addresses[id]
	for _, slice := range x.slices {
		got, ok := slice[id]
		if !ok || got.Terminating {
			continue
		}
		exists, ready = true, ready || got.Ready
		if a == nil {
			a = &address{service: x, id: id, node: got.Node, pod: s.pods.of(id), apart: got.ByHand || x.publishNotReady}
			x.addresses[id] = a
			a.pod.addresses = append(a.pod.addresses, a)
		}
	}
	if a == nil {
		return
	}
	a.left = !exists && a.held
	a.held = exists && !ready && !a.apart && (a.held || a.ready && a.pod.marked)
	if a.left && a.pod.evicted {
		a.keep()
	}
	s.setReady(a, seen.at, ready, change{first: seen.first})
	if !exists {
		delete(x.addresses, id)
	}
}

func (s *services) useEndpoints() { s.kind = event.KindEndpoints }

// listed must be called when the first list of the addresses is complete.
func (s *services) listed() { s.outagesBefore = s.withoutReady() }

// withoutReady returns the number of Services that have addresses, but no ready address.
func (s *services) withoutReady() (n int) {
	for _, x := range s.byName {
		ready := false
		for _, a := range x.addresses {
			ready = ready || a.ready
		}
		n += count(len(x.addresses) > 0 && !ready)
	}
	return n
}

// finish completes and sorts the changes. Call pods.findReplacements first. begin is the start of the recording.
func (s *services) finish(begin time.Time) {
	s.linkKept(begin)
	slices.SortStableFunc(s.changes, func(a, b change) int { return a.at.Compare(b.at) })
}

// setReady records whether an address is ready. Callers set only the fields `first` and `gone` of c.
func (s *services) setReady(a *address, t time.Time, ready bool, c change) {
	a.ready = ready
	c.at, c.address, c.ready, c.base = t, a, ready, ready || a.held && !c.gone
	if a.last > 0 {
		if last := s.changes[a.last-1]; last.ready == c.ready && last.base == c.base {
			return
		}
	} else if !c.base {
		return
	}
	s.changes = append(s.changes, c)
	a.last = len(s.changes)
}

func sortedIDs[T any](all map[event.UID]T) []event.UID {
	return slices.SortedFunc(maps.Keys(all), func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
}
