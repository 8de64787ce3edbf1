package endpoints

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track/addresses"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/writers"
)

// Service is the state of a Service at the time of the query.
type Service struct {
	Namespace, Name              string
	Created                      time.Time
	Type                         string
	Selector                     bool
	Ready, NotReady, Terminating int
	TurnedReady, TurnedNotReady  uint64
	Added, Removed, Bounces      uint64
	Outages                      uint64
	// OutageTime is the total time without a ready address, including the current outage.
	OutageTime time.Duration
	// Lost counts how often an address stopped being ready. Losses counts the losses with a determined cause, by cause.
	// LastLoss is the time of the newest loss in Losses, and LastCause is its cause. Both fields ignore foreign
	// addresses.
	Lost      uint64
	Losses    [cause.Count]uint32
	LastLoss  time.Time
	LastCause cause.Cause
	// Manual reports whether the Service has ever had manually managed addresses. A reset is the removal of all these
	// addresses. ResetsWithSelector counts the resets while the Service had a selector, and ResetsSelectorless counts
	// the other resets. SelectorConflict reports whether the Service has manually managed Endpoints and a selector that
	// matches no pods.
	Manual                                 bool
	ResetsWithSelector, ResetsSelectorless uint64
	SelectorConflict                       bool
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

// ReadyOn returns the number of ready addresses on a node. It includes the addresses that are not ready because the node
// turned Unknown. It omits addresses that stay ready when their pod is not ready.
func (x *Endpoints) ReadyOn(node string) int {
	if now := x.watches.Now(); !x.readyAt.Equal(now) {
		x.readyAt, x.readyOn = now, map[string]int{}
		x.services.each(func(s *service) {
			for i := range s.addresses.List {
				a := &s.addresses.List[i]
				if p := x.pods.Find(a.UID); p != nil && !s.publish && (a.State() == addresses.Ready || p.Cause() == cause.NodeHeartbeatLost) {
					x.readyOn[x.pods.Named(a.UID).Node]++
				}
			}
		})
	}
	return x.readyOn[node]
}

// All appends the Services to the given slice, sorted by namespace and name. It returns the extended slice.
func (x *Endpoints) All(into []Service) []Service {
	all := x.services.inOrder()
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
func (x *Endpoints) StartCounting() {
	x.services.each(func(s *service) {
		s.counts = counts{}
		s.outage.count, s.outage.finished = 0, 0
		s.ledger.Lost, s.ledger.ByCause = 0, [cause.Count]uint32{}
		s.writers.StartCounting()
	})
	x.consumers.StartCounting()
}

func (x *Endpoints) read(s *service) Service {
	t := x.watches.Now()
	outages := s.outage.finished
	if !s.outage.since.IsZero() {
		outages += x.watches.Counted(s.outage.since, t)
	}
	count, manual := &s.addresses.Count, s.writers.Manual()
	return Service{
		Namespace: s.key.namespace, Name: s.key.name, Created: x.watches.CountedFrom(s.created), Type: s.kind, Selector: s.HasSelector(),
		Ready: count[addresses.Ready], NotReady: count[addresses.NotReady], Terminating: count[addresses.Terminating],
		TurnedReady: s.turnedReady, TurnedNotReady: s.turnedNotReady,
		Added: s.added, Removed: s.removed, Bounces: s.bounces,
		Outages: s.outage.count, OutageTime: outages,
		Lost: s.ledger.Lost, Losses: s.ledger.ByCause, LastLoss: s.ledger.Last, LastCause: s.ledger.LastCause,
		Manual: manual.Ever, ResetsWithSelector: manual.ResetsWithSelector, ResetsSelectorless: manual.ResetsSelectorless,
		SelectorConflict: writers.InConflict(s), ManualAddresses: s.writers.ManualInEndpoints(), Diverging: s.diverging.asOf(t), ForeignAddresses: writers.ForeignAddresses(s),
	}
}

// StaleReadds appends the Services with stale re-adds to the given slice, sorted by namespace and name. It returns the
// extended slice. Package consumers describes stale re-adds.
func (x *Endpoints) StaleReadds(into []consumers.StaleReadds) []consumers.StaleReadds {
	return x.consumers.StaleReadds(into)
}

// Consumers appends the counts of the modeled consumers to the given slice, by namespace. It returns the extended
// slice.
func (x *Endpoints) Consumers(into []consumers.Namespace) []consumers.Namespace {
	return x.consumers.All(into)
}
