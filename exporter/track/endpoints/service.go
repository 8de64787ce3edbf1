package endpoints

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// service is a Service and its addresses, which may arrive in either order.
type service struct {
	key key
	// uid is zero if there is no such Service, only slices and Endpoints of its name.
	uid        event.UID
	generation uint32
	created    time.Time
	kind       string
	// selector is what selects its pods; empty if it has none. publish: publishNotReadyAddresses.
	selector pods.Selector
	publish  bool
	// exists: the Service was seen and was not deleted.
	exists bool
	// choice is a hash of what selects its addresses.
	choice uint64

	addresses addresses.Set
	// left are the addresses that left rotation recently, and when.
	left      map[event.UID]departed
	leftSwept time.Time

	counts
	outage outage
	ledger losses.Ledger

	// sources are the slices and Endpoints that hold its addresses.
	sources []*source
	writers writers.Set

	consumers consumers.Set
	diverging diverging
	// remembered is the newest list of slices before which its past was kept.
	remembered uint32
	// alone is the list of only this Service, which all pods share that are in no other.
	alone pods.ServiceList
}

// counts are what is counted of a Service's addresses, besides losses.
type counts struct {
	turnedReady, turnedNotReady uint64
	added, removed, bounces     uint64
}

// outage is the time without a ready address.
type outage struct {
	count uint64
	// finished is the time in outages that ended.
	finished time.Duration
	// since is when the current outage began, zero if there is none. live: that was seen when it happened.
	since time.Time
	live  bool
}

func (o *outage) asOf(t time.Time) time.Duration {
	if o.since.IsZero() {
		return o.finished
	}
	return o.finished + t.Sub(o.since)
}

func newService(k key, uid event.UID) *service {
	s := &service{key: k, uid: uid}
	s.alone.Service = s
	return s
}

// Exists reports whether the Service was seen and was not deleted.
func (s *service) Exists() bool { return s.exists }

// Namespace is the Service's namespace.
func (s *service) Namespace() string { return s.key.namespace }

// IsReady reports whether an address is in the Service and ready.
func (s *service) IsReady(id event.UID) bool { return s.addresses.StateOf(id) == addresses.Ready }

// Named is the name that transitions have.
func (s *service) Named() transition.Service {
	return transition.Service{Namespace: s.key.namespace, Name: s.key.name}
}

// WasCleared reports whether the Service has a selector and no manually managed addresses in Endpoints.
func (s *service) WasCleared() bool { return s.HasSelector() && s.writers.ManualInEndpoints() == 0 }

// HasSelector reports whether the Service has a selector.
func (s *service) HasSelector() bool { return len(s.selector) > 0 }

// UID is the Service's UID.
func (s *service) UID() event.UID { return s.uid }

// Writers are who writes the Service's addresses.
func (s *service) Writers() *writers.Set { return &s.writers }

// HasSteadyWriter reports whether the Service has no selector, and one writer of its addresses.
func (s *service) HasSteadyWriter() bool { return !s.HasSelector() && s.writers.Steady() }

// Ledger is what is known of the Service's losses.
func (s *service) Ledger() *losses.Ledger { return &s.ledger }

// ApplyService handles an event of a Service.
func (x *Endpoints) ApplyService(e event.Event, o *event.Service) {
	k := key{o.Namespace, o.Name}
	s := x.services.of[k]
	if e.Type == event.Deleted {
		if s != nil && s.uid == o.UID {
			x.retire(s)
		}
		return
	}
	if s == nil || !s.exists || s.uid != o.UID {
		s = x.succeed(s, k, o.UID)
		s.exists, s.created = true, e.Seen
		x.consumers.Join(s)
	}
	s.generation = x.watches.Generation(e.Kind)
	s.kind, s.publish = o.Type, o.PublishNotReady
	s.noteChoice(e, o)
	x.writers.Check(s, e.Seen)
}

// noteChoice notes when a Service begins to select other pods: that may explain losses that were seen before it.
func (s *service) noteChoice(e event.Event, o *event.Service) {
	choice := choiceOf(o)
	if s.choice == choice {
		return
	}
	if s.choice != 0 {
		s.ledger.Changed = e.Seen
	}
	s.selector = pods.NewSelector(o.Selector)
	s.choice = choice
}

// choiceOf is a hash of the selector and publishNotReadyAddresses, independent of the order of the map; never 0.
func choiceOf(o *event.Service) uint64 {
	choice := uint64(2)
	if o.PublishNotReady {
		choice = 4
	}
	for name, value := range o.Selector {
		choice += event.Hash(name+"="+value) << 1
	}
	return choice | 1
}

// succeed makes the Service of a new UID the one of its name, with the addresses that its own
// slices have shown already. Objects that name no owner (Endpoints, slices without an owner) move to it without counting: there the new
// Service begins.
func (x *Endpoints) succeed(old *service, k key, uid event.UID) *service {
	s := x.services.adopt(k, uid)
	if old == nil {
		return s
	}
	x.end(old)
	for _, h := range append([]*source(nil), old.sources...) {
		if h.owner.IsZero() {
			x.move(h, s)
		}
	}
	return s
}

// retire ends a deleted Service. Its addresses go with its slices, which counts nothing.
func (x *Endpoints) retire(s *service) {
	x.end(s)
	x.services.forgetIfGone(s)
}

// end reports that a Service is gone: deleted, or replaced by another of its name.
func (x *Endpoints) end(s *service) {
	if s.exists {
		x.found.Add(transition.ServiceRemoved{At: at(x.watches.Now()), Service: s.Named()})
		s.exists = false
		x.consumers.Leave(s)
	}
}
