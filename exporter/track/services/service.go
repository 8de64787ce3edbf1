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

// service is a Service and its addresses.
type service struct {
	name    transition.Service
	uid     event.UID
	created time.Time
	kind    string
	// createdBy is the resourceVersion of the write with which the Service was first seen, or 0 if it is unknown.
	createdBy uint64
	selector  pods.Selector
	// publish is the value of publishNotReadyAddresses.
	publish bool
	// deleted is set if the Service was deleted. Its losses can then still wait for evidence.
	deleted bool
	// everManual is set if the Service has ever had manually managed addresses.
	everManual bool
	// `cleared` is set when all manually managed addresses are removed while the Service has a selector. It is unset
	// when a pod matches the selector, or when the selector is removed. `conflict` is set while a selector conflict is
	// reported.
	cleared, conflict bool
	// `reset` is the removal of all manually managed addresses that is not counted yet, or nil.
	reset *reset
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
	// `outage` is the current outage, or nil. recovered is the time at which the last one ended, or zero.
	outage    *outage
	recovered time.Time

	// selectorSince is the resourceVersion of the last write that gave the Service a selector or removed it. It is 0 if it is
	// unknown, or if there was none.
	selectorSince uint64
	// changed is the time at which the Service's selection of pods last changed, by its selector or by
	// publishNotReadyAddresses. unpublished is the time at which the latter changed.
	changed, unpublished event.Moment
	// selectorBefore is the selector before its last change. `relabelled` holds the pods whose labels the selector no longer
	// matches, because they were changed.
	selectorBefore pods.Selector
	relabelled     map[event.UID]relabelled
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

// Exists reports whether the Service has not been deleted.
func (s *service) Exists() bool { return !s.deleted }

// needsAddresses reports whether the lack of ready addresses is an outage. The DNS name of a Service of type ExternalName
// refers to another name.
func (s *service) needsAddresses() bool { return s.kind != "ExternalName" }

// registry holds the Services, and the slices and Endpoints that contain their addresses.
type registry struct {
	all     map[transition.Service]*service
	sources map[event.UID]*source
	// waiting holds the sources whose Service does not exist, by its name. kubeflap can see them before the Service, and after
	// its deletion, even while another Service has the same name.
	waiting map[transition.Service][]*source
	// `sorted` holds the Services, sorted by namespace and name. It is nil after a Service has been added or removed.
	sorted []*service
}

func (x *registry) inOrder() []*service {
	if x.sorted == nil {
		x.sorted = slices.SortedFunc(maps.Values(x.all), compareServices)
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
	s := x.all[name]
	if e.Type == event.Deleted {
		if s != nil && s.uid == o.UID {
			x.retire(s, e)
		}
		return
	}
	isNew := s == nil
	if isNew {
		s = &service{name: name, uid: o.UID, created: e.Seen, createdBy: x.watches.Version()}
		x.all[name], x.sorted = s, nil
		x.placeAll(x.waiting[name])
	}
	if hasSelector := len(o.Selector) > 0; !isNew && hasSelector != s.hasSelector() {
		s.selectorSince = x.watches.Version()
	}
	// A change of the selection of pods can also explain address losses that kubeflap saw shortly before the change.
	selector, now := pods.NewSelector(o.Selector), x.watches.Moment(e.Seen)
	switch {
	case isNew:
	case s.publish != o.PublishNotReady:
		s.changed, s.unpublished = now, now
	case !slices.Equal(s.selector, selector):
		s.changed, s.selectorBefore, s.relabelled = now, s.selector, nil
	}
	if s.kind, s.publish, s.selector = o.Type, o.PublishNotReady, selector; s.outage != nil && !s.needsAddresses() {
		x.recover(s, e.Seen, x.notBefore(e.Kind, e.Seen))
	}
	x.checkWriters(s, e.Seen)
}

// retire handles the deletion of a Service. The addresses disappear later, when the slices are deleted. These removals
// are not reported.
func (x *Services) retire(s *service, e event.Event) {
	x.found.Add(transition.ServiceRemoved{At: at(e.Seen), Service: s.name, Earliest: x.watches.NotBefore(e.Kind, e.Seen)})
	if s.outage != nil {
		x.endOutage(s)
	}
	s.deleted = true
	delete(x.all, s.name)
	x.sorted = nil
	x.placeAll(s.sources)
}
