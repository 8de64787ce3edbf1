// Package endpoints follows the addresses of Services: which Endpoints and
// EndpointSlices hold them, when they are lost and why, bounces, outages,
// manually managed addresses, and disagreement between the objects.
package endpoints

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// podFacts are what endpoints ask of package pods.
type podFacts interface {
	// Find is a pod that exists, nil if there is none; Named knows deleted ones, too.
	Find(id event.UID) *pods.Pod
	Named(id event.UID) transition.Pod
	// IsBeingUpdated is what consumers ask.
	IsBeingUpdated(id event.UID, t time.Time) bool
	// CountPending counts the pods in phase Pending that a Service selects.
	CountPending(namespace string, by pods.Selector) int
}

// Settings are what the operator decides.
type Settings struct {
	// BounceWindow is how soon an address must be ready again for a bounce.
	BounceWindow time.Duration
	// Source is the resource that address states are read from, KindEndpointSlice or KindEndpoints;
	// 0 takes EndpointSlices where the cluster has them, else Endpoints.
	Source event.Kind
	// KnownManagers may write addresses beside a selector, besides those that event.IsSliceManager knows.
	KnownManagers []string
}

// Endpoints are the Services of a cluster and their addresses.
type Endpoints struct {
	settings Settings
	watches  *watches.Watches
	found    *transition.List
	pods     podFacts

	// readFrom is the resource that address states are read from now.
	readFrom event.Kind
	services registry
	slices   map[event.UID]*source
	objects  map[event.UID]*source
	// pasts are the Services as they were before the list of slices that is arriving.
	pasts []*past
	// scratch is memory for sorting.
	scratch struct{ before, after []addresses.Placed }

	losses      *losses.Losses
	propagation propagation
	writers     *writers.Writers
	consumers   *consumers.Consumers
	divergence  divergence
	// forgotten is when the addresses that are too old to bounce were last dropped.
	forgotten time.Time
}

// New makes an empty set of Services. losses finds the causes of their losses.
func New(settings Settings, watches *watches.Watches, found *transition.List, pods podFacts, losses *losses.Losses) *Endpoints {
	x := &Endpoints{
		settings: settings, watches: watches, found: found, pods: pods,
		readFrom: settings.Source, services: newRegistry(), slices: map[event.UID]*source{}, objects: map[event.UID]*source{},
		losses: losses, propagation: propagation{watches: watches, losses: losses},
		writers:   writers.New(watches, losses, settings.KnownManagers),
		consumers: consumers.New(watches, pods, settings.BounceWindow), divergence: divergence{watches: watches, pods: pods},
	}
	if x.readFrom == 0 {
		x.readFrom = event.KindEndpointSlice
	}
	return x
}

// PodChanged handles a pod that was added, changed or deleted.
func (x *Endpoints) PodChanged(id event.UID, c pods.Change, t time.Time) {
	if c.Turned {
		x.propagation.podTurned(id, c.Ready, t)
	}
	for l := c.Services; l != nil; l = l.Rest {
		s := l.Service.(*service)
		x.divergence.mark(s, t)
		if c.Updated {
			x.consumers.Updated(s, id)
		}
	}
	x.losses.SettleCertainOf(id)
}

// Pass handles the passing of time.
func (x *Endpoints) Pass() {
	t := x.watches.Now()
	x.consumers.ForgetNamespaces()
	x.CloseBatches(t)
	x.divergence.compare(t, x.readFrom)
}

// CloseBatches lets the consumers apply the batches that are due by t.
func (x *Endpoints) CloseBatches(t time.Time) {
	closed := x.consumers.Close(t)
	for _, b := range closed.Bounces {
		s := b.Service.(*service)
		x.losses.ReportOf(s, b.Address, transition.ConsumerBounced{
			At: at(b.At), Address: transition.Address{Service: s.Named(), ID: b.Address}, Window: b.Window,
		})
	}
	for _, r := range closed.StaleReadds {
		s := r.Service.(*service)
		x.losses.ReportOf(s, r.Address, transition.ConsumerReaddedStale{
			At: at(r.At), Address: transition.Address{Service: s.Named(), ID: r.Address, Pod: x.pods.Named(r.Address)}, Window: r.Window,
		})
	}
	x.forgetOld(t)
}

// forgetOld drops, from time to time, what is too old to bounce, also of Services in which nothing changes: of all
// addresses that ever flapped, it would be more than everything else that is kept of them.
func (x *Endpoints) forgetOld(t time.Time) {
	if t.Sub(x.forgotten) <= max(x.settings.BounceWindow, time.Minute) {
		return
	}
	x.forgotten = t
	x.consumers.ForgetUpdates(t)
	x.services.each(func(s *service) {
		s.forgetLeft(t, x.settings.BounceWindow)
		x.consumers.Forget(&s.consumers, t)
	})
}

// Sweep drops the objects of a resource that its newest list did not show.
func (x *Endpoints) Sweep(e event.Event) {
	switch e.Kind {
	case event.KindService:
		for _, s := range x.services.unlisted(x.watches.Generation(e.Kind)) {
			x.retire(s)
		}
	case event.KindEndpointSlice:
		x.sweepSources(e, x.slices)
		x.compareWithPast(e)
	case event.KindEndpoints:
		x.sweepSources(e, x.objects)
	}
}

// sweepSources goes in the order of the UIDs: the same events give the same transitions, in the same order.
func (x *Endpoints) sweepSources(e event.Event, sources map[event.UID]*source) {
	for _, id := range sortedIDs(sources) {
		if sources[id].generation != x.watches.Generation(e.Kind) {
			x.drop(e, sources, id)
		}
	}
}

// CompareAll has every Service compared: a whole resource was listed.
func (x *Endpoints) CompareAll(t time.Time) {
	for _, s := range x.services.of {
		x.divergence.mark(s, t)
	}
}

// Source is the resource that address states are read from now.
func (x *Endpoints) Source() event.Kind { return x.readFrom }

// ChooseSource reads the addresses from EndpointSlices where they can be watched, else from Endpoints. It never changes to a resource that
// cannot be seen now: then the last states stand, and the watch is reported as broken.
func (x *Endpoints) ChooseSource() {
	noSlices := x.watches.Missing(event.KindEndpointSlice)
	slicesSynced := x.watches.IsSynced(event.KindEndpointSlice)
	switch {
	case x.settings.Source != 0:
	case !noSlices && slicesSynced:
		x.switchSource(event.KindEndpointSlice)
	case noSlices && (x.watches.Up(event.KindEndpoints) || !slicesSynced):
		x.switchSource(event.KindEndpoints)
	}
}

// switchSource reads the address states from the other resource from now on. The next event
// of each object shows where its addresses come from.
func (x *Endpoints) switchSource(to event.Kind) {
	if x.readFrom == to {
		return
	}
	x.eachSource(func(h *source) { x.unmerge(h) })
	x.readFrom = to
	x.eachSource(func(h *source) { x.remerge(h, nil) })
}

func (x *Endpoints) eachSource(do func(*source)) {
	for _, sources := range []map[event.UID]*source{x.slices, x.objects} {
		for _, id := range sortedIDs(sources) {
			do(sources[id])
		}
	}
}

func sortedIDs[V any](m map[event.UID]V) []event.UID {
	return slices.SortedFunc(maps.Keys(m), func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
}

func at(t time.Time) transition.At { return transition.At{Time: t} }
