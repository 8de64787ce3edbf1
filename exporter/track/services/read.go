package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// Service is the state of a Service at the time of the query.
type Service struct {
	Namespace, Name              string
	Created                      time.Time
	Type                         string
	Selector                     bool
	Ready, NotReady, Terminating int
	// Counters includes the current outage.
	Counters
	Last
	// ClassSince contains the time at which the counters of each class began, or zero if they have not begun.
	ClassSince [cause.NumClasses]time.Time
	// Manual reports whether the Service has ever had manually managed addresses.
	Manual bool
	// SelectorConflict reports whether the Service has manually managed Endpoints and a selector that matches no pods.
	SelectorConflict bool
	// Diverging counts addresses whose readiness has differed between Endpoints, slices and pods for more than 10 s.
	Diverging int
	// PendingPods counts the pods in phase Pending that the Service selects. It is 0 if the Service has a ready
	// address.
	PendingPods int
	// ForeignAddresses counts the addresses that neither Kubernetes nor a known manager wrote. It is 0 if the Service
	// has no selector.
	ForeignAddresses int
	// HasPods reports whether the Service has an address of a pod.
	HasPods bool
}

// Counters holds the counters of a Service.
type Counters struct {
	// TurnedReady and TurnedNotReady count the readiness changes of addresses that stay in the Service.
	TurnedReady, TurnedNotReady uint64
	// Lost counts how often an address stopped being ready, by class. OutageTime is the total time without a ready address.
	Lost, Outages [cause.NumClasses]uint32
	OutageTime    [cause.NumClasses]time.Duration
	// Losses counts the losses with a determined cause.
	Losses [cause.Count]uint32
	// A reset is the removal of all manually managed addresses. ResetsWithSelector counts the resets while the Service
	// had a selector, and ResetsSelectorless counts the other resets.
	ResetsWithSelector, ResetsSelectorless uint64
	// StaleReadds counts the addresses that a client puts back into its load balancer during an in-place update of the pod.
	StaleReadds ByWindow
}

// Last holds the times of a Service's last losses and resets.
type Last struct {
	// LastLoss and LastCause are the time and the cause of the newest settled loss, without the losses of foreign addresses.
	LastLoss  time.Time
	LastCause cause.Cause
	LastReset Reset
}

// Reset holds the times of the last resets, while the Service had a selector and while it had none.
type Reset struct{ WithSelector, Selectorless time.Time }

// readyFor is the time for which the result of ReadyOn is kept.
const readyFor = 10 * time.Second

// ReadyOn returns the number of ready addresses on a node, which can be ten seconds old: while a control plane is slow or
// recovers, this is asked for all nodes within one heartbeat interval. It includes the addresses that are not ready because
// the node turned Unknown. It omits addresses that stay ready when their pod is not ready.
func (x *Services) ReadyOn(node string) int {
	if now := x.watches.Now(); now.Sub(x.readyAt) >= readyFor {
		x.readyAt, x.readyOn = now, map[string]int{}
		for _, s := range x.all {
			x.compared = s.appendAddresses(x.compared[:0], x.readFrom)
			for _, a := range x.compared {
				if p := x.pods.Find(a.id); p != nil && !s.publish && (a.state == ready || x.pods.Cause(p) == cause.NodeHeartbeatLost) {
					x.readyOn[x.pods.Node(p)]++
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
		into = append(into, x.read(s))
	}
	return into
}

// StartCounting sets the counters to zero. An outage whose class is not final has not been counted yet.
func (x *Services) StartCounting() {
	for _, s := range x.all {
		o := s.outage
		if o != nil {
			x.measure(o)
		}
		s.Counters, s.classSince = Counters{}, [cause.NumClasses]event.Moment{}
		if o != nil && o.final && o.counts() {
			x.noteCounted(s, o.class)
		}
	}
}

func (x *Services) read(s *service) Service {
	if s.outage != nil {
		x.measure(s.outage)
	}
	is := Service{
		Namespace: s.name.Namespace, Name: s.name.Name, Created: x.watches.CountedFrom(s.created), Type: s.kind, Selector: s.hasSelector(),
		Ready: int(s.count[ready]), NotReady: int(s.count[notReady]), Terminating: int(s.count[terminating]), Counters: s.Counters, Last: s.Last,
		Manual: s.everManual, SelectorConflict: s.inConflict(), Diverging: s.divergingAt(x.watches.Now()), ForeignAddresses: s.foreignAddresses(), HasPods: s.hasPods(),
	}
	if is.Ready == 0 {
		is.PendingPods = len(x.pods.Pending(s.name.Namespace, s.selector))
	}
	for class, since := range s.classSince {
		is.ClassSince[class] = x.watches.Time(since)
	}
	return is
}
