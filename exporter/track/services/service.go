package services

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// service is a Service and its addresses. kubeflap can see the addresses before the Service.
type service struct {
	name transition.Service
	// uid is zero if it is unknown. An Endpoints object contains only the name of its Service.
	uid      event.UID
	created  time.Time
	kind     string
	selector pods.Selector
	// publish is the value of publishNotReadyAddresses.
	publish bool
	// current is set if the Service has been seen and has not been deleted.
	current bool
	// everManual is set if the Service has ever had manually managed addresses.
	everManual bool
	// `cleared` is set when all manually managed addresses are removed while the Service has a selector. It is unset
	// when a pod matches the selector, or when the selector is removed. `conflict` is set while a selector conflict is
	// reported.
	cleared, conflict bool
	// `marked` is set while the Service awaits a comparison. `diverging` contains the start of the disagreement about each
	// address.
	marked    bool
	diverging map[event.UID]time.Time
	// sources holds the slices and Endpoints that contain the Service's addresses. count is the number of addresses in
	// each state.
	sources []*source
	count   [numStates]int32

	Counters
	Last
	// classSince contains the time at which the first loss or outage of each class was counted.
	classSince [cause.NumClasses]event.Moment
	// `outage` is the current outage, or nil.
	outage *outage

	// changed is the time at which the Service's selection of pods last changed, by its selector or by
	// publishNotReadyAddresses. unpublished is the time at which the latter changed.
	changed, unpublished event.Moment
	// selectorBefore is the selector before its last change. `relabelled` holds the pods whose labels the selector no longer
	// matches, because they were changed.
	selectorBefore pods.Selector
	relabelled     map[event.UID]relabelled
	// edited is the time at which somebody last wrote or deleted an object that a controller manages. sliceDeleted is
	// the time at which a slice of the EndpointSlice controller was last deleted.
	edited, sliceDeleted event.Moment
	// ownLost is the time at which the Service last lost a ready address that is not foreign.
	ownLost event.Moment
	// `replaced` holds the newest losses because of pods that were replaced, oldest first.
	replaced []replacement
	// `unreported` holds the unreported losses, sorted by time.
	unreported []*loss
	// `recent` holds the recent past of the addresses that changed. `batches` is true for each client whose batch is open.
	recent  map[event.UID]*recent
	batches [transition.NumWindows]bool
	// relist is the current relist of EndpointSlices, or nil.
	relist *update
}

// Exists reports whether the Service has been seen and has not been deleted.
func (s *service) Exists() bool { return s.current }

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
	sources map[sourceID]*source
	// `sorted` holds the current Services, sorted by namespace and name. It is nil after a Service has been added or
	// removed.
	sorted []*service
}

// getOrAdd returns the Service of a slice or an Endpoints object, and adds the Service if necessary. It finds the
// Service by the owner's UID if the object has an owner. A deleted Service and its successor with the same name can
// both have slices for a while.
func (x *registry) getOrAdd(name transition.Service, owner event.UID) *service {
	if s := x.all[owned{name: name}]; s != nil && s.uid == owner {
		return s
	}
	o := owned{name, owner}
	if x.all[o] == nil {
		x.all[o], x.sorted = &service{name: name, uid: owner}, nil
	}
	return x.all[o]
}

// forgetIfGone drops a Service that does not exist and has no slices or Endpoints.
func (x *registry) forgetIfGone(s *service) {
	if s.current || len(s.sources) > 0 {
		return
	}
	for _, o := range []owned{{name: s.name}, {s.name, s.uid}} {
		if x.all[o] == s {
			delete(x.all, o)
			x.sorted = nil
		}
	}
}

func (x *registry) inOrder() []*service {
	if x.sorted == nil {
		x.sorted = slices.SortedFunc(maps.Values(x.all), compareServices)
		x.sorted = slices.DeleteFunc(x.sorted, func(s *service) bool { return x.all[owned{name: s.name}] != s })
	}
	return x.sorted
}

func compareServices(a, b *service) int { return compareNames(a.name, b.name) }

func compareNames(a, b transition.Service) int {
	return cmp.Or(strings.Compare(a.Namespace, b.Namespace), strings.Compare(a.Name, b.Name))
}

// ApplyService handles a Service event.
func (x *Services) ApplyService(e event.Event, o *event.Service) {
	name := transition.Service{Namespace: o.Namespace, Name: o.Name}
	s := x.all[owned{name: name}]
	if e.Type == event.Deleted {
		if s != nil && s.current && s.uid == o.UID {
			x.retire(s, e)
		}
		return
	}
	if s == nil || !s.current {
		s = x.makeCurrent(s, name, o.UID)
	}
	// A change of the selection of pods can also explain address losses that kubeflap saw shortly before the change.
	selector, now := pods.NewSelector(o.Selector), x.watches.Moment(e.Seen)
	switch {
	case s.created.IsZero():
	case s.publish != o.PublishNotReady:
		s.changed, s.unpublished = now, now
	case !slices.Equal(s.selector, selector):
		s.changed, s.selectorBefore = now, s.selector
	}
	if !s.current {
		s.current, s.created = true, e.Seen
	}
	if s.kind, s.publish, s.selector = o.Type, o.PublishNotReady, selector; s.outage != nil && !s.needsAddresses() {
		x.recover(s, e.Seen, x.notBefore(e.Kind, e.Seen))
	}
	x.checkWriters(s, e.Seen)
}

// makeCurrent makes a newly seen Service the current one with its name. It moves objects without an owner reference
// from the previous Service to the new one. The move does not count as a change of addresses.
func (x *Services) makeCurrent(old *service, name transition.Service, uid event.UID) *service {
	s := x.all[owned{name, uid}]
	if s == nil {
		s = &service{name: name, uid: uid}
	}
	delete(x.all, owned{name, uid})
	x.all[owned{name: name}], x.sorted = s, nil
	if old == nil || old == s {
		return s
	}
	for _, h := range slices.Clone(old.sources) {
		if h.owner.IsZero() {
			x.move(h, s)
		}
	}
	return s
}

// retire handles the deletion of a Service. The addresses disappear later, when the slices are deleted. These removals
// are not reported.
func (x *Services) retire(s *service, e event.Event) {
	x.found.Add(transition.ServiceRemoved{At: at(e.Seen), Service: s.name, Earliest: x.watches.NotBefore(e.Kind, e.Seen)})
	if s.outage != nil {
		x.endOutage(s)
	}
	s.current, s.StaleReadds = false, ByWindow{}
	for _, r := range s.recent {
		r.updating = false
	}
	x.forgetIfGone(s)
}
