package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track/classes"
	"github.com/kubeflap/kubeflap/exporter/track/losses"
)

// Service is the state of a Service at the time of the query.
type Service struct {
	Namespace, Name              string
	Created                      time.Time
	Type                         string
	Selector                     bool
	Ready, NotReady, Terminating int
	Flips
	// Counts includes the current outage.
	classes.Counts
	losses.Causes
	// ClassSince contains the time at which the counters of each class began, or zero if they have not begun.
	ClassSince [cause.NumClasses]time.Time
	// LastLoss is the time of the newest loss in Losses, and LastCause is its cause. Both fields ignore foreign
	// addresses.
	LastLoss  time.Time
	LastCause cause.Cause
	LastReset losses.Reset
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
	// HasPods reports whether the Service has an address of a pod. StaleReadds counts the addresses that a client puts
	// back into its load balancer during an in-place update of the pod.
	HasPods     bool
	StaleReadds ByWindow
}

// Flips counts the readiness changes of addresses that stay in a Service.
type Flips struct{ TurnedReady, TurnedNotReady uint64 }

// ReadyOn returns the number of ready addresses on a node, which can be a second old: when a control plane recovers, this
// is asked for all nodes. It includes the addresses that are not ready because the node turned Unknown. It omits
// addresses that stay ready when their pod is not ready.
func (x *Services) ReadyOn(node string) int {
	if now := x.watches.Now(); now.Sub(x.readyAt) >= time.Second {
		x.readyAt, x.readyOn = now, map[string]int{}
		for _, s := range x.all {
			for _, a := range s.Addresses(x.losses.ReadFrom) {
				if p := x.pods.Find(a.ID); p != nil && !s.publish && (a.State == losses.Ready || p.Cause() == cause.NodeHeartbeatLost) {
					x.readyOn[p.Node()]++
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
		if s.Current {
			into = append(into, x.read(s))
			if is := &into[len(into)-1]; is.Ready == 0 {
				is.PendingPods = len(x.pods.Pending(s.Name.Namespace, s.Selector))
			}
		}
	}
	return into
}

// StartCounting sets the counters to zero.
func (x *Services) StartCounting() {
	for _, s := range x.all {
		s.flips = Flips{}
		s.Causes = losses.Causes{}
		x.losses.StartCounting(&s.Service.Service)
		if s.clients != nil {
			s.clients.readds = ByWindow{}
		}
	}
	x.propagation.counts = Propagations{}
}

func (x *Services) read(s *service) Service {
	t, n := x.watches.Now(), &s.Count
	is := Service{
		Namespace: s.Name.Namespace, Name: s.Name.Name, Created: x.watches.CountedFrom(s.created), Type: s.kind, Selector: len(s.Selector) > 0,
		Ready: int(n[losses.Ready]), NotReady: int(n[losses.NotReady]), Terminating: int(n[losses.Terminating]),
		Flips: s.flips, Counts: x.losses.Counted(&s.Service.Service), Causes: s.Causes, LastLoss: s.Last, LastCause: s.LastCause, LastReset: s.LastReset,
		Manual: s.EverManual, SelectorConflict: s.InConflict(),
		Diverging: s.divergingAt(t), ForeignAddresses: s.ForeignAddresses(), HasPods: s.HasPods(),
	}
	for class, since := range s.ClassSince {
		is.ClassSince[class] = x.watches.Time(since)
	}
	if s.clients != nil {
		is.StaleReadds = s.clients.readds
	}
	return is
}
