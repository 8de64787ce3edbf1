// Package services tracks the Services of a cluster and their addresses in Endpoints and EndpointSlices. It determines why
// addresses stop being ready, and reports each loss and each outage once its cause is known. It decides their classes, for
// which it tracks Deployments and StatefulSets. It tracks who writes the addresses: a Kubernetes controller, another known
// manager, a user who manages addresses manually, or an unknown client. It finds disagreements between Endpoints, slices
// and pods, measures propagation delays, and simulates clients that batch endpoint updates.
package services

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// facts is what all parts of this package use.
type facts struct {
	watches *watches.Watches
	found   *transition.List
	nodes   *nodes.Nodes
	pods    *pods.Pods
	// readFrom is the resource from which address states are read.
	readFrom event.Kind
	// `known` holds the managers that the operator configured.
	known []string
	// `compared` and comparedWith hold the addresses of compareSources and ReadyOn. The memory is reused.
	compared, comparedWith []address
}

// blindAfter is the time without a working watch of Services or their addresses after which it is unknown whether an
// outage is ongoing.
const blindAfter = 90 * time.Second

// blindSince returns the time since which it is unknown which outages are ongoing, because a watch is broken.
func (q *facts) blindSince() (since time.Time, blind bool) {
	for _, k := range [...]event.Kind{event.KindService, q.readFrom} {
		if t, ok := q.watches.BlindSince(k, blindAfter); ok && (!blind || t.Before(since)) {
			since, blind = t, true
		}
	}
	return since, blind
}

// report reports a change of a Service, unless the Service was deleted.
func (q *facts) report(s *service, change transition.Transition) {
	if !s.deleted {
		q.found.Add(change)
	}
}

// notBefore returns the earliest possible time of a change that kubeflap saw at t. It is zero if a first list showed it.
func (q *facts) notBefore(k event.Kind, t time.Time) time.Time {
	earliest := q.watches.NotBefore(k, t)
	if earliest.Equal(t) && !q.watches.Live(k, t) {
		return time.Time{}
	}
	return earliest
}

func (q *facts) isKnown(manager string) bool { return slices.Contains(q.known, manager) }

func at(t time.Time) transition.At { return transition.At{Time: t} }

// Services tracks the Services of a cluster and their addresses.
type Services struct {
	losses
	registry

	// wanted is the resource from which address states must be read, or 0.
	wanted event.Kind
	// restored holds the outages that were ongoing before the first lists, until Services and their addresses are listed.
	restored map[event.UID]Outage
	// listed is set once Services and their addresses have been listed.
	listed bool
	// relists holds the Services that are being listed again. SlicesListed compares their old and new states.
	relists []*update
	// readyOn holds the number of ready addresses on each node, as counted at readyAt.
	readyOn map[string]int
	readyAt time.Time
}

// New returns an empty tracker. Address states are read from the resource `wanted`: KindEndpointSlice or KindEndpoints. 0
// means EndpointSlices if the cluster has them, and Endpoints otherwise. The managers `known` are trusted, and those
// that event.IsSliceManager recognizes.
func New(wanted event.Kind, known []string, watches *watches.Watches, found *transition.List, nodes *nodes.Nodes, pods *pods.Pods) *Services {
	f := &facts{watches, found, nodes, pods, cmp.Or(wanted, event.KindEndpointSlice), known, nil, nil}
	w := workloads{f, map[string]map[event.WorkloadName]*workload{}}
	q := losses{classes{w, map[string][]*outage{}, over{}}, map[event.UID][]*loss{}}
	return &Services{
		losses:   q,
		registry: registry{map[transition.Service]*service{}, map[event.UID]*source{}, map[transition.Service][]*source{}, nil}, wanted: wanted,
	}
}

// smallService is the number of addresses up to which it is cheaper to look for an address than to do something in vain.
const smallService = 100

// PodChanged handles a pod that was added, changed or deleted. In a StatefulSet with a Service for each pod, all pods have all
// these Services, and only one of them contains the pod.
func (x *Services) PodChanged(id event.UID, c pods.Change, t time.Time) {
	for _, is := range c.Services {
		s := is.(*service)
		if s.count[ready]+s.count[notReady] <= smallService && !x.concerns(s, id) {
			continue
		}
		x.mark(s, t)
		if c.ReadyChanged {
			x.podTurned(s, id, c.Ready, t)
		}
		x.noteLabels(s, id, c.Labels)
		if c.Updated {
			x.imageUpdated(s, id)
		}
	}
	x.settleAny(x.byAddress[id], false)
	x.reviewIn(c.Workload.Namespace, func(o *outage) bool { return o.isOf(c.Workload) })
}

// concerns reports whether a Service contains a pod, or contained it lately.
func (q *facts) concerns(s *service, id event.UID) bool {
	return s.recent[id] != nil || s.hasLeft(id) || s.stateOf(id, q.readFrom, nil) != absent
}

// AddressSource returns the resource from which address states are read.
func (x *Services) AddressSource() event.Kind { return x.readFrom }

// SettleAll ends all waits for evidence.
func (x *Services) SettleAll() {
	for _, s := range x.inOrder() {
		x.settleReset(s)
	}
	x.settleAll()
}

// WatchChanges measures the outages up to the time since which it is unknown whether they are ongoing. Call it before each
// change of a watch.
func (x *Services) WatchChanges() {
	if _, blind := x.blindSince(); !blind {
		return
	}
	for _, s := range x.all {
		if s.outage != nil {
			x.measure(s.outage)
		}
	}
}

// WatchChanged handles the end of a list, and each other change of a watch.
func (x *Services) WatchChanged() {
	x.chooseSource()
	x.findOutages()
	x.each(x.expire) // what was due while a watch was broken
}
