package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
)

// Service is the state of a Service at the time of the query.
type Service struct {
	Namespace, Name              string
	Created                      time.Time
	Type                         string
	Selector                     bool
	Ready, NotReady, Terminating int
	AddressCounts
	// Counts includes the current outage.
	losses.Counts
	// LastLoss is the time of the newest loss in Losses, and LastCause is its cause. Both fields ignore foreign
	// addresses.
	LastLoss  time.Time
	LastCause cause.Cause
	// Manual reports whether the Service has ever had manually managed addresses.
	Manual bool
	// SelectorConflict reports whether the Service has manually managed Endpoints and a selector that matches no pods.
	SelectorConflict bool
	// ManualAddresses counts the manually managed addresses in Endpoints.
	ManualAddresses int
	// Diverging counts addresses whose readiness has differed between Endpoints, slices and pods for more than 10 s.
	Diverging int
	// PendingPods counts the pods in phase Pending that the Service selects. It is 0 if the Service has a ready
	// address.
	PendingPods int
	// ForeignAddresses counts the addresses that neither Kubernetes nor a known manager wrote. It is 0 if the Service
	// has no selector.
	ForeignAddresses int
}

// AddressCounts counts the changes of a Service's addresses.
type AddressCounts struct {
	TurnedReady, TurnedNotReady uint64
	Added, Removed, Bounces     uint64
}

// Source returns the resource from which address states are currently read.
func (x *Services) Source() event.Kind { return x.readFrom }

// ReadyOn returns the number of ready addresses on a node. It includes the addresses that are not ready because the node
// turned Unknown. It omits addresses that stay ready when their pod is not ready.
func (x *Services) ReadyOn(node string) int {
	if now := x.watches.Now(); !x.readyAt.Equal(now) {
		x.readyAt, x.readyOn = now, map[string]int{}
		for _, s := range x.all {
			for i := range s.addresses.list {
				a := &s.addresses.list[i]
				if p := x.pods.Find(a.uid); p != nil && !s.publish && (a.state() == ready || p.Cause() == cause.NodeHeartbeatLost) {
					x.readyOn[x.pods.Named(a.uid).Node]++
				}
			}
		}
	}
	return x.readyOn[node]
}

// All appends the Services to the given slice, sorted by namespace and name. It returns the extended slice.
func (x *Services) All(into []Service) []Service {
	all := x.inOrder()
	into = slices.Grow(into, len(all))
	for _, s := range all {
		if s.exists {
			into = append(into, x.read(s))
			if is := &into[len(into)-1]; is.Ready == 0 {
				is.PendingPods = x.pods.CountPending(s.key.namespace, s.selector)
			}
		}
	}
	return into
}

// StartCounting sets the counters of all Services and consumers to zero.
func (x *Services) StartCounting() {
	for _, s := range x.all {
		s.counts, s.record.Counts = AddressCounts{}, losses.Counts{}
		s.consumers.StartCounting()
	}
	x.Consumers.StartCounting()
}

func (x *Services) read(s *service) Service {
	t, n := x.watches.Now(), &s.addresses.count
	is := Service{
		Namespace: s.key.namespace, Name: s.key.name, Created: x.watches.CountedFrom(s.created), Type: s.kind, Selector: s.HasSelector(),
		Ready: n[ready], NotReady: n[notReady], Terminating: n[terminating],
		AddressCounts: s.counts, Counts: s.record.Counts, LastLoss: s.record.Last, LastCause: s.record.LastCause,
		Manual: s.record.EverManual, SelectorConflict: losses.InConflict(s), ManualAddresses: losses.ManualInEndpoints(s),
		Diverging: s.diverging.asOf(t), ForeignAddresses: losses.ForeignAddresses(s),
	}
	if s.record.Outage != nil {
		is.OutageTime += x.watches.Counted(s.record.Outage.Since, t)
	}
	return is
}

// StaleReadds appends the Services with stale re-adds to the given slice, sorted by namespace and name. It returns the
// extended slice. Package consumers describes stale re-adds.
func (r *registry) StaleReadds(into []consumers.StaleReadds) []consumers.StaleReadds {
	for _, s := range r.inOrder() {
		if by := s.consumers.StaleReadds(); by != [consumers.NumWindows]uint64{} {
			into = append(into, consumers.StaleReadds{Service: s.Named(), ByWindow: by})
		}
	}
	return into
}
