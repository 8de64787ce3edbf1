package services

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/classes"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// service is a Service and its addresses. kubeflap can see the addresses before the Service.
type service struct {
	losses.Service
	created time.Time
	kind    string
	// publish is the value of publishNotReadyAddresses.
	publish bool

	flips   Flips
	clients *clients
	// `marked` is set while the Service awaits a comparison. `diverging` contains the start of the disagreement about each
	// address.
	marked    bool
	diverging map[event.UID]time.Time
	// relist is the current relist of EndpointSlices, or nil.
	relist *update
	// `alone` is a list that contains only this Service. Pods that belong to no other Service share this list.
	alone pods.ServiceList
}

func newService(name transition.Service, uid event.UID) *service {
	s := &service{Service: losses.Service{Service: classes.Service{Name: name}, UID: uid}}
	s.alone.Service = s
	return s
}

// Exists reports whether the Service has been seen and has not been deleted.
func (s *service) Exists() bool { return s.Current }

// needsAddresses reports whether the lack of ready addresses is an outage. The DNS name of a Service of type ExternalName
// refers to another name.
func (s *service) needsAddresses() bool { return s.kind != "ExternalName" }

// owned identifies a Service. The uid is zero for the current Service with this name. Otherwise, kubeflap knows the
// Service only as the owner of a slice: it has not been seen yet, or has been replaced by another Service with the same
// name.
type owned struct {
	name transition.Service
	uid  event.UID
}

// registry holds the Services, and the slices and Endpoints that contain their addresses.
type registry struct {
	all     map[owned]*service
	sources map[losses.SourceID]*source
	// `sorted` holds the current Services, sorted by namespace and name. It is nil after a Service has been added or
	// removed.
	sorted []*service
}

// getOrAdd returns the Service of a slice or an Endpoints object, and adds the Service if necessary. It finds the
// Service by the owner's UID if the object has an owner. A deleted Service and its successor with the same name can
// both have slices for a while.
func (r *registry) getOrAdd(name transition.Service, owner event.UID) *service {
	if s := r.all[owned{name: name}]; s != nil && s.UID == owner {
		return s
	}
	o := owned{name, owner}
	if r.all[o] == nil {
		r.all[o], r.sorted = newService(name, owner), nil
	}
	return r.all[o]
}

// forgetIfGone drops a Service that does not exist and has no slices or Endpoints.
func (r *registry) forgetIfGone(s *service) {
	if s.Current || len(s.Sources) > 0 {
		return
	}
	for _, o := range []owned{{name: s.Name}, {s.Name, s.UID}} {
		if r.all[o] == s {
			delete(r.all, o)
			r.sorted = nil
		}
	}
}

func (r *registry) inOrder() []*service {
	if r.sorted == nil {
		r.sorted = slices.SortedFunc(maps.Values(r.all), compareServices)
		r.sorted = slices.DeleteFunc(r.sorted, func(s *service) bool { return r.all[owned{name: s.Name}] != s })
	}
	return r.sorted
}

func compareServices(a, b *service) int {
	return cmp.Or(strings.Compare(a.Name.Namespace, b.Name.Namespace), strings.Compare(a.Name.Name, b.Name.Name))
}

// ApplyService handles a Service event.
func (x *Services) ApplyService(e event.Event, o *event.Service) {
	name := transition.Service{Namespace: o.Namespace, Name: o.Name}
	s := x.all[owned{name: name}]
	if e.Type == event.Deleted {
		if s != nil && s.Current && s.UID == o.UID {
			x.retire(s, e)
		}
		return
	}
	if s == nil || !s.Current {
		s = x.makeCurrent(s, name, o.UID)
	}
	// A change of the selection of pods can also explain address losses that kubeflap saw shortly before the change.
	selector, now := pods.NewSelector(o.Selector), x.watches.Moment(e.Seen)
	switch {
	case s.created.IsZero():
	case s.publish != o.PublishNotReady:
		s.Changed, s.Unpublished = now, now
	case !slices.Equal(s.Selector, selector):
		s.Changed, s.SelectorBefore = now, s.Selector
	}
	if !s.Current {
		s.Current, s.created, s.Over = true, e.Seen, x.over[name]
		delete(x.over, name)
	}
	if s.kind, s.publish, s.Selector = o.Type, o.PublishNotReady, selector; s.Outage != nil && !s.needsAddresses() {
		x.losses.EndOutage(&s.Service, e.Seen, notBefore(x.watches, e.Kind, e.Seen))
	}
	x.losses.Check(&s.Service, e.Seen)
}

// makeCurrent makes a newly seen Service the current one with its name. It moves objects without an owner reference
// from the previous Service to the new one. The move does not count as a change of addresses.
func (x *Services) makeCurrent(old *service, name transition.Service, uid event.UID) *service {
	s := x.all[owned{name, uid}]
	if s == nil {
		s = newService(name, uid)
	}
	delete(x.all, owned{name, uid})
	x.all[owned{name: name}], x.sorted = s, nil
	if old == nil || old == s {
		return s
	}
	for _, of := range slices.Clone(old.Sources) {
		if h := x.sources[of.SourceID]; h.Owner.IsZero() {
			x.move(h, s)
		}
	}
	return s
}

// retire handles the deletion of a Service. The addresses disappear later, when the slices are deleted. These removals
// are not reported.
func (x *Services) retire(s *service, e event.Event) {
	x.found.Add(transition.ServiceRemoved{At: at(e.Seen), Service: s.Name, Earliest: x.watches.NotBefore(e.Kind, e.Seen)})
	if s.Outage != nil {
		x.losses.End(&s.Service.Service)
	}
	x.over.keep(s, e.Seen, x.watches)
	s.Current = false
	if c := s.clients; c != nil {
		clear(c.updating)
		c.readds = ByWindow{}
	}
	x.forgetIfGone(s)
}
