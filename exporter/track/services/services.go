// Package services tracks the Services of a cluster and their addresses in Endpoints and EndpointSlices. It detects
// addresses that stop being ready, and determines the causes. It detects Services without a ready address, and
// disagreements between Endpoints, slices and pods. It also measures propagation delays.
package services

import (
	"maps"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
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

// Services tracks the Services of a cluster and their addresses.
type Services struct {
	settings Settings
	watches  *watches.Watches
	found    *transition.List
	pods     podFacts
	losses   *losses.Losses
	writers  *losses.Writers
	// Consumers holds the modeled consumers of all Services.
	Consumers *consumers.Consumers
	*registry
	propagation
	divergence

	// readFrom is the resource from which address states are currently read.
	readFrom event.Kind
	// pasts holds the states that Services had before a relist of EndpointSlices. SlicesListed compares them with the
	// new states.
	pasts []*past
	// scratch is memory that is reused for sorting.
	scratch []entry
	// readyOn holds the result of ReadyOn for each node at the time readyAt.
	readyOn map[string]int
	readyAt time.Time
	// `forgotten` is the time at which CloseBatches last removed old data.
	forgotten time.Time
}

// New returns an empty tracker.
func New(settings Settings, watches *watches.Watches, found *transition.List, pods podFacts, q *losses.Losses) *Services {
	all := &registry{all: map[owned]*service{}, sources: map[losses.SourceID]*source{}}
	x := &Services{
		settings: settings, watches: watches, found: found, pods: pods,
		losses: q, writers: losses.NewWriters(q, settings.KnownManagers), Consumers: consumers.New(watches, pods, settings.BounceWindow),
		registry: all, propagation: propagation{watches: watches, losses: q}, divergence: divergence{registry: all, watches: watches, pods: pods},
		readFrom: settings.Source,
	}
	if x.readFrom == 0 {
		x.readFrom = event.KindEndpointSlice
	}
	return x
}

// PodChanged handles a pod that was added, changed or deleted.
func (x *Services) PodChanged(id event.UID, c pods.Change, t time.Time) {
	if c.ReadyChanged {
		x.podTurned(id, c.Ready, t)
	}
	for l := c.Services; l != nil; l = l.Rest {
		s := l.Service.(*service)
		x.mark(s, t)
		if c.Updated {
			x.Consumers.ImageUpdated(s, id)
		}
	}
	x.losses.SettleCertainOf(id)
}

// HandleDue handles everything that is due at the current time.
func (x *Services) HandleDue() {
	t := x.watches.Now()
	x.Consumers.ForgetNamespaces()
	x.CloseBatches(t)
	x.compareMarked(t, x.readFrom)
}

// CloseBatches applies the consumers' batches that are due by t. It occasionally removes old data of all Services.
// Otherwise, data about every address that ever flapped would accumulate.
func (x *Services) CloseBatches(t time.Time) {
	for _, m := range x.Consumers.Close(t) {
		x.losses.ReportOf(m.Service.(*service), m.Address, m.Change)
	}
	if t.Sub(x.forgotten) <= max(x.settings.BounceWindow, time.Minute) {
		return
	}
	x.forgotten = t
	for _, s := range x.all {
		x.Consumers.Forget(s, t)
		maps.DeleteFunc(s.leftRotation, func(_ event.UID, left rotationExit) bool { return t.Sub(left.at) > x.settings.BounceWindow })
		if len(s.leftRotation) == 0 {
			s.leftRotation = nil
		}
	}
}

func at(t time.Time) transition.At { return transition.At{Time: t} }
