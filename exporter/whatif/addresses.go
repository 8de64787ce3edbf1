package whatif

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

type serviceName struct{ namespace, name string }

// service is a Service with its addresses.
type service struct {
	serviceName
	publishNotReady bool
	// slices holds the addresses of each slice, by the slice's name.
	slices    map[string]map[event.UID]event.Address
	addresses map[event.UID]*address
	// kept holds the addresses that were removed because of an eviction.
	kept []*address
}

// address is a Service address.
type address struct {
	service *service
	id      event.UID
	node    string
	pod     *pod
	// apart is set if the address does not change when its node is marked.
	apart bool
	// ready is the recorded state. held is set if the address is unready only because its node was marked.
	ready, held bool
	// left is set if the address was held when it left the Service's slices. kept is set if the address left the slices
	// because its pod was evicted. Without the eviction, the address would still exist.
	left, kept bool
	// standsFor is the kept address that this address replaced, or nil.
	standsFor *address
	// last is the index of the address's last change, plus one.
	last int
}

// change is a change of an address. ready is the recorded state after the change. base is the state that the address
// would have if no node were marked.
type change struct {
	at          time.Time
	address     *address
	ready, base bool
	// first is set if the change only shows the state at the start of the recording. gone is set if the Service was
	// deleted.
	first, gone bool
}

func (s *Study) service(name serviceName) *service {
	x := s.services[name]
	if x == nil {
		x = &service{serviceName: name, slices: map[string]map[event.UID]event.Address{}, addresses: map[event.UID]*address{}}
		s.services[name] = x
	}
	return x
}

func (s *Study) applyService(e event.Event, o *event.Service) {
	name := serviceName{o.Namespace, o.Name}
	if e.Type != event.Deleted {
		s.service(name).publishNotReady = o.PublishNotReady
		return
	}
	if x := s.services[name]; x != nil {
		for _, id := range sortedIDs(x.addresses) {
			s.setReady(x.addresses[id], e.Seen, false, change{gone: true})
		}
		for _, a := range x.kept {
			s.setReady(a, e.Seen, false, change{gone: true})
		}
		delete(s.services, name)
	}
}

// applyAddresses updates a Service from an EndpointSlice or an Endpoints object. The Endpoints object counts as the
// Service's only slice.
func (s *Study) applyAddresses(e event.Event, name serviceName, slice string, all []event.Address) {
	x := s.service(name)
	was := x.slices[slice]
	is := map[event.UID]event.Address{}
	if e.Type != event.Deleted {
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
		s.merge(x, e, id)
	}
}

// merge recomputes the state of an address, which is ready if any slice lists it as ready.
func (s *Study) merge(x *service, e event.Event, id event.UID) {
	ready, exists, a := false, false, x.addresses[id]
	for _, slice := range x.slices {
		got, ok := slice[id]
		if !ok || got.Terminating {
			continue
		}
		exists, ready = true, ready || got.Ready
		if a == nil {
			a = &address{service: x, id: id, node: got.Node, pod: s.podOf(id), apart: got.ByHand || x.publishNotReady}
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
	s.setReady(a, e.Seen, ready, change{first: s.gaps.first(e)})
	if !exists {
		delete(x.addresses, id)
	}
}

// addressKind returns the kind of the objects whose addresses count.
func (s *Study) addressKind() event.Kind {
	if s.endpoints {
		return event.KindEndpoints
	}
	return event.KindEndpointSlice
}

// withoutReady returns the number of Services that have addresses, but no ready one.
func (s *Study) withoutReady() (n int) {
	for _, x := range s.services {
		ready := false
		for _, a := range x.addresses {
			ready = ready || a.ready
		}
		n += count(len(x.addresses) > 0 && !ready)
	}
	return n
}

// slow is the longest delay between the loss of an address and the time at which its pod was marked. Events of
// different watches have no common order.
const slow = 5 * time.Second

// hold records that the node controller marked the address's pod as not ready. If the address was lost just before, the
// mark is the reason for the loss.
func (s *Study) hold(a *address, t time.Time) {
	if a.apart || a.ready || a.held || a.last == 0 || a.service.addresses[a.id] != a {
		return
	}
	last := &s.changes[a.last-1]
	if last.ready || last.first || t.Sub(last.at) > slow {
		return
	}
	a.held, last.base = true, true
}

// keep records that a pod was evicted. If held addresses of the pod left their Services shortly before, the eviction is
// the reason.
func (s *Study) keep(p *pod, t time.Time) {
	for _, a := range p.addresses {
		if !a.left || a.kept {
			continue
		}
		if last := &s.changes[a.last-1]; !last.gone && t.Sub(last.at) <= slow {
			last.base = true
			a.keep()
		}
	}
}

// keep records that the eviction of the pod removed the address. The address stays held.
func (a *address) keep() {
	a.held, a.kept = true, true
	a.service.kept = append(a.service.kept, a)
}

// linkKept finds the addresses that replaced kept addresses. A kept address ends when the last replacement of its pod
// is gone.
func (s *Study) linkKept() {
	for _, p := range s.allPods {
		for _, a := range p.addresses {
			if p.replaces != nil {
				a.standsFor = p.replaces.keptIn(a.service)
			}
			if end := p.left(s.begin); a.kept && !end.IsZero() {
				s.changes = append(s.changes, change{at: end, address: a})
			}
		}
	}
}

// keptIn returns the pod's kept address in a Service, or nil.
func (p *pod) keptIn(x *service) *address {
	for _, a := range p.addresses {
		if a.service == x && a.kept {
			return a
		}
	}
	return nil
}

// root returns the original address that this address replaced, directly or through other addresses. If this address
// replaced no other address, root returns the address itself.
func (a *address) root() *address {
	for a.standsFor != nil {
		a = a.standsFor
	}
	return a
}

func (s *Study) setReady(a *address, t time.Time, ready bool, c change) {
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
