package services

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
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
func (x *Services) Source() event.Kind { return x.losses.ReadFrom }

// ReadyOn returns the number of ready addresses on a node. It includes the addresses that are not ready because the node
// turned Unknown. It omits addresses that stay ready when their pod is not ready.
func (x *Services) ReadyOn(node string) int {
	if now := x.watches.Now(); !x.readyAt.Equal(now) {
		x.readyAt, x.readyOn = now, map[string]int{}
		for _, s := range x.all {
			for _, a := range s.Addresses(x.losses.ReadFrom) {
				if p := x.pods.Find(a.ID); p != nil && !s.publish && (a.State == losses.Ready || p.Cause() == cause.NodeHeartbeatLost) {
					x.readyOn[x.pods.Named(a.ID).Node]++
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
				is.PendingPods = x.pods.CountPending(s.Name.Namespace, s.Selector)
			}
		}
	}
	return into
}

// StartCounting sets the counters of all Services and clients to zero.
func (x *Services) StartCounting() {
	for _, s := range x.all {
		if s.counts, s.Counts = (AddressCounts{}), (losses.Counts{}); s.clients != nil {
			s.clients.readds = ByWindow{}
		}
	}
	x.namespaces.Reset()
}

func (x *Services) read(s *service) Service {
	t, n := x.watches.Now(), &s.Count
	is := Service{
		Namespace: s.Name.Namespace, Name: s.Name.Name, Created: x.watches.CountedFrom(s.created), Type: s.kind, Selector: len(s.Selector) > 0,
		Ready: int(n[losses.Ready]), NotReady: int(n[losses.NotReady]), Terminating: int(n[losses.Terminating]),
		AddressCounts: s.counts, Counts: s.Counts, LastLoss: s.Last, LastCause: s.LastCause,
		Manual: s.EverManual, SelectorConflict: s.InConflict(), ManualAddresses: s.ManualInEndpoints(),
		Diverging: s.divergingAt(t), ForeignAddresses: s.ForeignAddresses(),
	}
	if s.Outage != nil {
		is.OutageTime += x.watches.Counted(s.Outage.Since, t)
	}
	return is
}

// Outages returns the start of each ongoing outage that began by t, by the UID of the Service.
func (x *Services) Outages(t time.Time) map[event.UID]time.Time {
	all := map[event.UID]time.Time{}
	for _, s := range x.all {
		if o := s.Outage; s.Current && o != nil && !o.Since.After(t) {
			all[s.UID] = o.Since
		}
	}
	return all
}

// RestoreOutages makes the given outages go on for those Services that have no ready address in the first lists.
func (x *Services) RestoreOutages(all map[event.UID]time.Time) { x.restored = all }

// ContinueOutages reports the restored outages that go on. It does nothing until Services and their addresses are listed.
func (x *Services) ContinueOutages(t time.Time) {
	if x.restored == nil || !x.watches.IsSynced(event.KindService) || !x.watches.IsSynced(x.losses.ReadFrom) {
		return
	}
	for _, s := range x.inOrder() {
		if since := x.restored[s.UID]; !since.IsZero() && s.Current && s.Count[losses.Ready] == 0 {
			x.losses.ContinueOutage(&s.Service, since, t)
		}
	}
	x.restored = nil
}
