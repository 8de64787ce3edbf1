// Package services tracks the Services of a cluster and their addresses in Endpoints and EndpointSlices. It detects
// addresses that stop being ready. It detects Services without a ready address, and disagreements between Endpoints,
// slices and pods. It also measures propagation delays, and simulates clients that batch endpoint updates.
package services

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// facts are what other packages know.
type facts struct {
	watches *watches.Watches
	found   *transition.List
	pods    *pods.Pods
	losses  *losses.Losses
}

// Services tracks the Services of a cluster and their addresses.
type Services struct {
	*facts
	*registry
	propagation
	divergence
	batching
	waits

	// wanted is the resource from which address states must be read, or 0.
	wanted event.Kind
	// restored holds the outages that were ongoing before the first lists, until Services and their addresses are listed.
	restored map[event.UID]Outage
	// listed is set once Services and their addresses have been listed.
	listed bool
	over   over
	// relists holds the Services that are being listed again. SlicesListed compares their old and new states.
	relists []*update
	// readyOn holds the number of ready addresses on each node, as counted at readyAt.
	readyOn map[string]int
	readyAt time.Time
}

// New returns an empty tracker. Address states are read from the resource `wanted`: KindEndpointSlice or KindEndpoints. 0
// means EndpointSlices if the cluster has them, and Endpoints otherwise. The parameter bounceWindow is the maximum length
// of a bounce, in which an address stops being ready and becomes ready again.
func New(bounceWindow time.Duration, wanted event.Kind, watches *watches.Watches, found *transition.List, pods *pods.Pods, q *losses.Losses) *Services {
	f, r := &facts{watches, found, pods, q}, &registry{map[owned]*service{}, map[losses.SourceID]*source{}, nil}
	x := &Services{
		facts: f, registry: r, propagation: propagation{facts: f}, divergence: divergence{facts: f, registry: r},
		batching: batching{facts: f, bounceWindow: bounceWindow}, waits: waits{facts: f}, wanted: wanted, over: over{},
	}
	q.ReadFrom = cmp.Or(wanted, event.KindEndpointSlice)
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
		s.NoteLabels(id, c.Labels, x.watches.Version())
		if c.Updated && s.Current {
			x.imageUpdated(s, id)
		}
	}
	x.losses.SettleCertainOf(id)
}

// HandleDue handles everything that is due at the current time.
func (x *Services) HandleDue() {
	t := x.watches.Now()
	x.CloseBatches(t)
	x.forget(x.all, t)
	x.compareMarked(t)
}

func at(t time.Time) transition.At { return transition.At{Time: t} }
