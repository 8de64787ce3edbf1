// Package correlate decides which transitions belong to the same incident.
//
// Like the tracker, the package reads no clock. Each transition and each query contains a time. Therefore, a replay
// produces the same incidents at any speed.
package correlate

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/nodes"
	"github.com/kubeflap/kubeflap/exporter/incident/ledger"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Log observes transitions, and answers questions about the incidents. It is safe for concurrent use.
type Log struct {
	*ledger.Reader
	ledger   *ledger.Ledger
	nodes    *nodes.Nodes
	pods     *pods
	services *services
}

// New returns an empty log that keeps at most size incidents that have ended. Newer incidents displace older ones.
func New(size int) *Log {
	l := &Log{}
	l.ledger = ledger.New(size, func(t time.Time) {
		l.services.sweep(t)
		l.pods.sweep(t)
		l.nodes.Sweep(t)
	})
	l.Reader = ledger.NewReader(l.ledger)
	l.nodes = nodes.New(l.ledger)
	l.pods = &pods{l.nodes, map[podKey]*pod{}}
	l.services = &services{writers{l.ledger}, l.nodes, l.pods, map[incident.Open]*address{}, map[transition.Service]*service{}}
	return l
}

// Restore takes over the silences that were observed before t, and the incidents that were ongoing. If such an incident is
// found again, it keeps its ID and its start. Call Restore before the first transition.
func (l *Log) Restore(p ledger.Past, t time.Time) {
	l.Change(func() {
		l.ledger.Silences.Restore(p.Past, t)
		for _, o := range p.Ongoing {
			r := l.ledger.Resume(o, t)
			l.nodes.Expect(o.Nodes, r)
			for _, x := range o.Outages {
				l.services.named(x).earlier = r
			}
			for _, x := range o.Lost {
				l.ledger.Show(r)
				l.services.lose(r, x)
			}
		}
	})
}

// Observe handles transitions in the given order.
func (l *Log) Observe(found ...transition.Transition) {
	l.Change(func() {
		for _, x := range found {
			l.ledger.Advance(x.FoundAt())
			l.observe(x)
		}
	})
}

func (l *Log) observe(x transition.Transition) {
	switch x := x.(type) {
	case transition.PodReadyChanged:
		l.pods.podReadyChanged(x)
	case transition.PodEvicted:
		l.pods.podEvicted(x)
	case transition.PodLossExplained:
		l.services.lossExplained(x)
	case transition.PodReadyWasStale:
		if x.Stale > 0 { // otherwise, the end of the container came with the change of Ready
			l.pods.note(x.Pod, incident.Entry{Kind: incident.PodWasStale, Time: x.Time, Duration: x.Stale})
		}
	case transition.PodUpdatedInPlace:
		kind := incident.PodUpdated
		if !x.Ready {
			kind = incident.PodUpdatedNotReady
		}
		l.pods.note(x.Pod, incident.Entry{Kind: kind, Time: x.Time})
	case transition.PodRestartedSilently:
		l.pods.note(x.Pod, incident.Entry{Kind: incident.PodRestarted, Time: x.Time})
	default:
		l.nodes.Observe(x)
		l.observeWatch(x)
		l.observeService(x)
	}
}

// observeWatch handles transitions of watches and of control-plane Leases, and direct reads of Leases.
func (l *Log) observeWatch(x transition.Transition) {
	c := &l.ledger.ControlPlane
	switch x := x.(type) {
	case transition.WatchBroke:
		if x.Resource == event.KindLease {
			l.nodes.WatchBroke(x)
		}
		if x.Reason == event.ReasonNotRunning || x.Reason == event.ReasonNotRecorded {
			l.ledger.Stopped(x.Since)
			return
		}
		l.ledger.AddToNodes(incident.Entry{Kind: incident.WatchBroke, Time: x.Time, Name: x.Resource.String()})
	case transition.WatchWorks:
		if x.Resource == event.KindLease {
			l.ledger.LeaseBreak.To = x.Time
		}
		if !l.ledger.Resumed(x.Time.Add(-x.Blind), x.Time) {
			l.ledger.AddToNodes(incident.Entry{Kind: incident.WatchWorks, Time: x.Time, Name: x.Resource.String(), Duration: x.Blind})
		}
	case transition.ControlPlaneLeaseLate:
		c.LeaseLate(x)
		l.ledger.AddToNodes(incident.LeaseStopped(x.Name, x.Since))
	case transition.ControlPlaneLeaseRenewed:
		c.LeaseRenewed(x)
	case transition.LeaderChanged:
		c.LeaderChanged(x.Time)
		l.ledger.AddToNodes(incident.Entry{Kind: incident.LeaderChanged, Time: x.Time, Name: x.To})
	case transition.LeasesRead:
		c.LeasesRead(x)
		l.ledger.AddToNodes(incident.Entry{Kind: incident.LeasesRead, Time: x.Time, Name: x.String()})
	}
}

// observeService handles a transition of a Service or its addresses.
func (l *Log) observeService(x transition.Transition) {
	switch x := x.(type) {
	case transition.AddressLost:
		l.services.addressLost(x)
	case transition.AddressRemoved:
		l.services.addressGone(x)
	case transition.AddressAdded:
		if x.Ready {
			l.services.addressReady(x.Address, x.Time)
		}
	case transition.AddressReady:
		l.services.addressReady(x.Address, x.Time)
	case transition.ConsumerMistake:
		l.services.consumerMistaken(x)
	case transition.OutageStarted:
		l.services.outageStarted(x)
	case transition.OutageWaits:
		l.services.outageWaits(x)
	case transition.OutageEnded:
		l.services.outageEnded(x)
	case transition.EndpointsReset:
		l.services.endpointsReset(x)
	case transition.EndpointsRewritten:
		l.services.endpointsRewritten(x)
	case transition.SelectorConflict:
		l.services.selectorConflicts(x)
	case transition.SelectorConflictEnded:
		l.services.selectorConflictEnded(x)
	case transition.ForeignAddresses:
		l.services.foreignAddresses(x)
	case transition.ForeignAddressesEnded:
		l.services.foreignEnded(x)
	case transition.ServiceRemoved:
		l.services.serviceRemoved(x)
	}
}
