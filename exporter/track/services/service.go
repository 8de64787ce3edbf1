package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// service is a Service and its addresses. kubeflap can see the addresses before the Service.
type service struct {
	key key
	// uid is zero if it is unknown. An Endpoints object contains only the name of its Service.
	uid     event.UID
	created time.Time
	kind    string
	// selector is the Service's pod selector, or empty. publish is the value of publishNotReadyAddresses.
	selector pods.Selector
	publish  bool
	// `exists` is set if the Service has been seen and has not been deleted.
	exists bool
	// choice is a hash of the selector and publishNotReadyAddresses.
	choice uint64

	addresses addressSet
	counts    AddressCounts
	// leftRotation holds the addresses that recently stopped being ready.
	leftRotation map[event.UID]rotationExit

	record    losses.Record
	consumers consumers.Set
	diverging diverging
	// `past` is the Service's state before the current relist of EndpointSlices, or nil.
	past *past
	// `alone` is a list that contains only this Service. Pods that belong to no other Service share this list.
	alone pods.ServiceList
}

func newService(k key, uid event.UID) *service {
	s := &service{key: k, uid: uid}
	s.alone.Service = s
	return s
}

// Exists reports whether the Service has been seen and has not been deleted.
func (s *service) Exists() bool { return s.exists }

// Named returns the namespace and name of the Service.
func (s *service) Named() transition.Service {
	return transition.Service{Namespace: s.key.namespace, Name: s.key.name}
}

// UID returns the Service's UID.
func (s *service) UID() event.UID { return s.uid }

// HasSelector reports whether the Service has a selector.
func (s *service) HasSelector() bool { return len(s.selector) > 0 }

// IsReady reports whether an address is in the Service and ready.
func (s *service) IsReady(id event.UID) bool { return s.addresses.stateOf(id) == ready }

// Record returns the record of the Service's losses and of the clients that write its addresses.
func (s *service) Record() *losses.Record { return &s.record }

// Consumers returns the modeled consumers of the Service.
func (s *service) Consumers() *consumers.Set { return &s.consumers }

// ApplyService handles a Service event.
func (x *Services) ApplyService(e event.Event, o *event.Service) {
	k := key{o.Namespace, o.Name}
	s := x.all[owned{key: k}]
	if e.Type == event.Deleted {
		if s != nil && s.exists && s.uid == o.UID {
			x.retire(s, e)
		}
		return
	}
	if s == nil || !s.exists {
		s = x.makeCurrent(s, k, o.UID)
		s.exists, s.created = true, e.Seen
		x.Consumers.Join(s)
	}
	s.kind = o.Type
	s.noteChoice(e, o)
	x.writers.Check(s, e.Seen)
}

// noteChoice sets the selector and publishNotReadyAddresses, and records a change. This change can also explain address
// losses that kubeflap saw shortly before the change.
func (s *service) noteChoice(e event.Event, o *event.Service) {
	choice := choiceOf(o)
	if s.choice == choice {
		return
	}
	if s.choice != 0 {
		s.record.Changed = e.Seen
		if s.publish != o.PublishNotReady {
			s.record.Unpublished = e.Seen
		}
	}
	s.publish, s.selector = o.PublishNotReady, pods.NewSelector(o.Selector)
	s.choice = choice
}

// choiceOf returns a hash of the selector and publishNotReadyAddresses. The hash does not depend on map order, and is
// never 0.
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

// makeCurrent makes a newly seen Service the current one with the name k. It moves objects without an owner reference
// from the previous Service to the new one. The move does not count as a change of addresses.
func (x *Services) makeCurrent(old *service, k key, uid event.UID) *service {
	s := x.adopt(k, uid)
	if old == nil || old == s {
		return s
	}
	for _, of := range slices.Clone(old.record.Sources) {
		if h := x.sources[of.SourceID]; h.owner.IsZero() {
			x.move(h, s)
		}
	}
	return s
}

// retire handles the deletion of a Service. The addresses disappear later, when the slices are deleted. These removals
// are not reported.
func (x *Services) retire(s *service, e event.Event) {
	x.found.Add(transition.ServiceRemoved{At: at(e.Seen), Service: s.Named(), Earliest: x.watches.NotBefore(e.Kind, e.Seen)})
	s.exists = false
	x.Consumers.Leave(s)
	x.forgetIfGone(s)
}
