package postmortem

import (
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Start holds the Services and nodes that were not ready when a recording began. No incident covers them, because
// kubeflap did not see them become unready.
type Start struct {
	// Time is the time of the first event.
	Time time.Time
	// Services lists the Services without a ready address. Nodes lists the nodes that were not Ready. Both lists are
	// sorted by name.
	Services, Nodes []Unready
	// ServicesUnknown and NodesUnknown are set if the recording contains no complete list of Services or nodes.
	ServicesUnknown, NodesUnknown bool
}

// Unready is a Service or a node that was not ready. `Until` is the time at which the object became ready or was
// deleted. It is zero if neither happened in the recording.
type Unready struct {
	Namespace, Name string
	Until           time.Time
}

// overlaps reports whether the Service or node was still unready at the time `from`.
func (x *Unready) overlaps(from time.Time) bool { return x.Until.IsZero() || x.Until.After(from) }

// Lasts reports whether any Service or node was still unready at t.
func (s *Start) Lasts(t time.Time) bool {
	overlaps := func(x Unready) bool { return x.overlaps(t) }
	return slices.ContainsFunc(s.Services, overlaps) || slices.ContainsFunc(s.Nodes, overlaps)
}

// firstState finds the objects that were not ready when a recording began.
type firstState struct {
	services map[[2]string]*firstService
	nodes    map[string]*Unready
	// addresses is the kind of object that holds the Services' addresses.
	addresses event.Kind
	synced    map[event.Kind]bool
	// decided is set after the first complete lists. After that, `services` contains only Services that had no ready
	// address in these lists.
	decided bool
	// `missing` is used while a kind is listed again. It holds the known names that have not yet appeared in the new
	// list.
	missing map[event.Kind]map[[2]string]bool
}

// firstService counts the addresses of a Service. For each EndpointSlice, `slices` holds the number of ready addresses
// and the number of all addresses.
type firstService struct {
	slices map[string][2]int
	// hadAddresses is set if the Service had addresses in the first list.
	hadAddresses bool
	until        time.Time
}

func newFirstState() firstState {
	return firstState{
		services: map[[2]string]*firstService{}, nodes: map[string]*Unready{}, addresses: event.KindEndpointSlice,
		synced: map[event.Kind]bool{}, missing: map[event.Kind]map[[2]string]bool{},
	}
}

func (f *firstState) event(e event.Event) {
	switch e.Type {
	case event.Unavailable:
		if e.Kind == event.KindEndpointSlice && !f.decided {
			f.addresses = event.KindEndpoints
		}
	case event.Listing:
		f.relist(e.Kind)
	case event.Synced:
		f.listed(e)
	}
	if !e.Type.HasObject() || e.Type == event.DirectReadLease {
		return
	}
	switch o := e.Object.(type) {
	case *event.Node:
		f.node(e, o)
	case *event.Service:
		f.service(e, o)
	case *event.EndpointSlice:
		f.slice(e, [2]string{o.Namespace, o.Service}, o.Name, o.Addresses)
	case *event.Endpoints:
		f.slice(e, [2]string{o.Namespace, o.Name}, o.Name, o.Addresses)
	}
}

func (f *firstState) node(e event.Event, o *event.Node) {
	delete(f.missing[e.Kind], [2]string{"", o.Name})
	ready := e.Type == event.Deleted || o.Ready != nil && o.Ready.Status == event.StatusTrue
	n := f.nodes[o.Name]
	switch {
	case n == nil && !ready && !f.synced[e.Kind]:
		f.nodes[o.Name] = &Unready{Name: o.Name}
	case n != nil && ready && n.Until.IsZero():
		n.Until = e.Seen
	}
}

func (f *firstState) service(e event.Event, o *event.Service) {
	name := [2]string{o.Namespace, o.Name}
	delete(f.missing[e.Kind], name)
	s := f.services[name]
	switch {
	case s == nil && !f.decided && e.Type != event.Deleted && o.Type != "ExternalName":
		f.services[name] = &firstService{slices: map[string][2]int{}}
	case s != nil && e.Type == event.Deleted && !f.decided:
		delete(f.services, name)
	case s != nil && e.Type == event.Deleted:
		s.end(e.Seen)
	}
}

func (s *firstService) end(t time.Time) {
	if s.until.IsZero() {
		s.until = t
	}
}

// slice handles an event of an EndpointSlice or an Endpoints object. An Endpoints object counts as the Service's only
// slice.
func (f *firstState) slice(e event.Event, name [2]string, slice string, addresses []event.Address) {
	if e.Kind != f.addresses {
		return
	}
	s := f.services[name]
	if s == nil {
		if f.decided {
			return
		}
		s = &firstService{slices: map[string][2]int{}}
		f.services[name] = s
	}
	if e.Type == event.Deleted {
		addresses = nil
	}
	ready := 0
	for _, a := range addresses {
		if a.Ready {
			ready++
		}
	}
	s.slices[slice] = [2]int{ready, len(addresses)}
	if f.decided && ready > 0 {
		s.end(e.Seen)
	}
}

// relist records the names that a repeated list should contain.
func (f *firstState) relist(k event.Kind) {
	if !f.synced[k] {
		return
	}
	names := map[[2]string]bool{}
	switch k {
	case event.KindNode:
		for name := range f.nodes {
			names[[2]string{"", name}] = true
		}
	case event.KindService:
		for name := range f.services {
			names[name] = true
		}
	}
	f.missing[k] = names
}

// listed is called at the end of a list. If an object is missing from a repeated list, the object was deleted while
// kubeflap did not watch.
func (f *firstState) listed(e event.Event) {
	for name := range f.missing[e.Kind] {
		if n := f.nodes[name[1]]; n != nil && e.Kind == event.KindNode && n.Until.IsZero() {
			n.Until = e.Seen
		}
		if s := f.services[name]; s != nil && e.Kind == event.KindService {
			s.end(e.Seen)
		}
	}
	delete(f.missing, e.Kind)
	f.synced[e.Kind] = true
	if !f.decided && f.synced[event.KindService] && f.synced[f.addresses] {
		f.decide()
	}
}

// decide removes the Services that have a ready address.
func (f *firstState) decide() {
	f.decided = true
	maps.DeleteFunc(f.services, func(_ [2]string, s *firstService) bool {
		ready := 0
		for _, n := range s.slices {
			ready, s.hadAddresses = ready+n[0], s.hadAddresses || n[1] > 0
		}
		return ready > 0
	})
}

// start returns the Services and nodes that were not ready when the recording began. It omits Services that had no
// address at the start and no ready address later. Such Services may be empty on purpose.
func (f *firstState) start(begin time.Time) *Start {
	s := &Start{Time: begin, ServicesUnknown: !f.decided, NodesUnknown: !f.synced[event.KindNode]}
	for name, x := range f.services {
		if f.decided && (x.hadAddresses || !x.until.IsZero()) {
			s.Services = append(s.Services, Unready{Namespace: name[0], Name: name[1], Until: x.until})
		}
	}
	for _, n := range f.nodes {
		s.Nodes = append(s.Nodes, *n)
	}
	byName := func(a, b Unready) int {
		return slices.Compare([]string{a.Namespace, a.Name}, []string{b.Namespace, b.Name})
	}
	slices.SortFunc(s.Services, byName)
	slices.SortFunc(s.Nodes, byName)
	return s
}
