// Package endpoints tracks the addresses of Services in Endpoints and EndpointSlices. It detects addresses that stop
// being ready, and Services without a ready address. It also detects manually managed addresses, and disagreements
// between Endpoints, slices and pods.
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

// podFacts lists the methods of package pods that this package calls.
type podFacts interface {
	// Find returns an existing pod, or nil. Named returns the name of a pod, even if the pod was deleted recently.
	Find(id event.UID) *pods.Pod
	Named(id event.UID) transition.Pod
	// IsBeingUpdated reports whether an in-place update of the pod is in progress at t.
	IsBeingUpdated(id event.UID, t time.Time) bool
	// CountPending returns the number of pods in phase Pending that the selector matches.
	CountPending(namespace string, by pods.Selector) int
}

// Settings is the configuration for New.
type Settings struct {
	// BounceWindow is the maximum length of a bounce. An address bounces if it stops being ready and becomes ready
	// again within this time.
	BounceWindow time.Duration
	// Source is the resource from which address states are read: KindEndpointSlice or KindEndpoints. 0 means
	// EndpointSlices if the cluster has them, and Endpoints otherwise.
	Source event.Kind
	// KnownManagers lists managers that are allowed to add addresses to a Service with a selector. The managers that
	// event.IsSliceManager recognizes are always allowed.
	KnownManagers []string
}

// Endpoints tracks the Services of a cluster and their addresses.
type Endpoints struct {
	settings Settings
	watches  *watches.Watches
	found    *transition.List
	pods     podFacts

	// readFrom is the resource from which address states are currently read.
	readFrom event.Kind
	services registry
	slices   map[event.UID]*source
	objects  map[event.UID]*source
	// pasts holds the states that Services had before a relist of EndpointSlices. SlicesListed compares them with the
	// new states.
	pasts []*past
	// restored holds the outages that were ongoing before the first lists, until Services and their addresses are listed.
	restored map[event.UID]time.Time
	// scratch is memory that is reused for sorting.
	scratch struct{ before, after []addresses.Placed }

	losses      *losses.Losses
	propagation propagation
	writers     *writers.Writers
	consumers   *consumers.Consumers
	divergence  divergence
	// readyOn holds the result of ReadyOn for each node at the time readyAt.
	readyOn map[string]int
	readyAt time.Time
	// `forgotten` is the time at which forgetOld last removed old data.
	forgotten time.Time
}

// New returns an empty tracker.
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
	if c.ReadyChanged {
		x.propagation.podTurned(id, c.Ready, t)
	}
	for l := c.Services; l != nil; l = l.Rest {
		s := l.Service.(*service)
		x.divergence.mark(s, t)
		if c.Updated {
			x.consumers.ImageUpdated(s, id)
		}
	}
	x.losses.SettleCertainOf(id)
}

// HandleDue handles everything that is due at the current time.
func (x *Endpoints) HandleDue() {
	t := x.watches.Now()
	x.consumers.ForgetNamespaces()
	x.CloseBatches(t)
	x.divergence.compare(t, x.readFrom)
}

// CloseBatches applies the consumers' batches that are due by t.
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

// forgetOld occasionally removes old data of all Services. Otherwise, data about every address that ever flapped would
// accumulate.
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

// CompareAll schedules a comparison between Endpoints, slices and pods for every Service.
func (x *Endpoints) CompareAll(t time.Time) {
	for _, s := range x.services.byName {
		x.divergence.mark(s, t)
	}
}

// Source returns the resource from which address states are currently read.
func (x *Endpoints) Source() event.Kind { return x.readFrom }

// ChooseSource selects the source of address states, unless Settings.Source is set. It selects EndpointSlices if they
// can be watched, and Endpoints otherwise. If EndpointSlices have been listed before, it switches to Endpoints only
// when the watch of Endpoints works. Until then, the last known states stay in use.
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

// switchSource changes the resource from which address states are read. Afterwards, the Origin of an address is unknown
// until an event changes the state of the address.
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
