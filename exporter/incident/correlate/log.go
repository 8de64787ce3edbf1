// Package correlate decides which transitions belong to the same incident.
//
// Like the tracker, the package reads no clock. Each transition and each query contains a time. Therefore, a replay
// produces the same incidents at any speed.
package correlate

import (
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/outages"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/writers"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// delay is how late timers run. Some transitions arrive late, because the tracker waits for the cause of a loss. It
	// usually waits for a second, but up to 15 s if a watch lags.
	delay = time.Second
	// sweepEvery is the interval between two sweeps.
	sweepEvery = time.Minute
)

// Log holds a cluster's incidents. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	// The field swept is the time of the last sweep.
	swept   time.Time
	records *record.Store

	nodes     *nodes
	pods      *pods
	outages   *outages.Outages
	writers   writers.Writers
	addresses *addresses
}

// New returns an empty log that keeps at most size incidents. Newer incidents displace older ones.
func New(size int) *Log {
	records := record.NewStore(size)
	nodes := &nodes{records: records, lastTransition: map[string]time.Time{}, troubled: map[string]*node{}, gone: map[string]removedNode{}, deleted: map[string]time.Time{}}
	pods := &pods{records, nodes, map[podKey]*pod{}}
	writers := writers.New(records)
	outages := outages.New(records, writers)
	addresses := &addresses{records, nodes, pods, outages, map[record.AddressKey]*address{}}
	return &Log{records: records, nodes: nodes, pods: pods, outages: outages, writers: writers, addresses: addresses}
}

// Observe handles transitions in the given order.
func (l *Log) Observe(found ...transition.Transition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range found {
		l.advance(x.FoundAt())
		l.observe(x)
	}
}

func (l *Log) observe(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		l.nodes.heartbeatSeen(x)
	case transition.PodReadyChanged:
		l.pods.podReadyChanged(x)
	case transition.PodEvicted:
		l.pods.podEvicted(x)
	case transition.PodReadyWasStale:
		l.pods.note(x.Pod, evidence.Entry{Kind: evidence.PodWasStale, Time: x.Time, Duration: x.Stale})
	case transition.PodUpdatedInPlace:
		l.pods.note(x.Pod, evidence.Entry{Kind: evidence.PodUpdated, Time: x.Time})
	case transition.PodRestartedSilently:
		l.pods.note(x.Pod, evidence.Entry{Kind: evidence.PodRestarted, Time: x.Time})
	case transition.WatchBroke:
		if x.Resource == event.KindLease {
			l.nodes.watchBroke(x)
			l.records.LeaseBreak.Begin(x.Since)
		}
		if stopped(x.Reason) {
			l.records.Stopped(x.Since)
			return
		}
		l.records.AddToNodes(evidence.Entry{Kind: evidence.WatchBroke, Time: x.Time, Name: x.Resource.String()})
	case transition.WatchWorks:
		if x.Resource == event.KindLease {
			l.records.LeaseBreak.To = x.Time
		}
		if l.records.Resumed(x.Time.Add(-x.Blind), x.Time) {
			return
		}
		l.records.AddToNodes(evidence.Entry{Kind: evidence.WatchWorks, Time: x.Time, Name: x.Resource.String(), Duration: x.Blind})
	default:
		l.observeNode(x)
		l.observeControlPlane(x)
		l.observeService(x)
	}
}

// stopped reports whether a watch broke because kubeflap stopped watching everything.
func stopped(why event.Reason) bool {
	return why == event.ReasonNotRunning || why == event.ReasonNotRecorded
}

// observeNode handles a transition of a node.
func (l *Log) observeNode(x transition.Transition) {
	switch x := x.(type) {
	case transition.GracePeriodKnown:
		l.records.Learn(x)
		l.nodes.known = x.Nodes
	case transition.HeartbeatsResumed:
		l.nodes.heartbeatsResumed(x)
	case transition.HeartbeatLate:
		l.nodes.heartbeatLate(x)
	case transition.ClockSetBack:
		l.nodes.clockSetBack(x)
	case transition.HeartbeatsWereInTime:
		l.nodes.heartbeatsWereInTime(x)
	case transition.NodeFoundLost:
		l.nodes.nodeFoundLost(x)
	case transition.HeartbeatMissed:
		l.nodes.heartbeatMissed(x)
	case transition.NodeReadyChanged:
		if x.To == event.StatusTrue {
			l.nodes.nodeTurnedReady(x)
		} else {
			l.nodes.nodeTurnedNotReady(x)
		}
	case transition.NodeReadyMissed:
		l.nodes.nodeReadyMissed(x)
	case transition.NodeNotMarked:
		l.nodes.nodeNotMarked(x)
	case transition.NodeRebooted:
		l.nodes.nodeRebooted(x)
	case transition.KubeletUpgraded:
		l.nodes.kubeletUpgraded(x)
	case transition.NodeRemoved:
		l.nodes.nodeRemoved(x)
	case transition.NodeReturned:
		l.nodes.nodeReturned(x)
	}
}

// observeService handles a transition of a Service or its addresses.
func (l *Log) observeService(x transition.Transition) {
	switch x := x.(type) {
	case transition.AddressLost:
		l.addresses.addressLost(x)
	case transition.AddressRemoved:
		l.addresses.addressGone(x.Address, x.Time, evidence.AddressRemoved)
	case transition.AddressLeftOut:
		l.addresses.addressGone(x.Address, x.Time, evidence.AddressLeftOut)
	case transition.AddressAdded:
		if x.Ready {
			l.addresses.addressReady(x.Address, x.Time)
		}
	case transition.AddressReady:
		l.addresses.addressReady(x.Address, x.Time)
	case transition.AddressBounced:
		l.addresses.addressReturned(keyOf(x.Address), x.Time)
	case transition.ConsumerBounced:
		l.addresses.consumerBounced(x)
	case transition.ConsumerReaddedStale:
		l.addresses.consumerReadded(x)
	case transition.OutageStarted:
		l.outages.OutageStarted(x)
	case transition.OutageEnded:
		l.outages.OutageEnded(x)
	case transition.EndpointsReset:
		l.writers.EndpointsReset(x)
	case transition.EndpointsRewritten:
		l.writers.EndpointsRewritten(x)
	case transition.SelectorConflict:
		l.writers.SelectorConflict(x)
	case transition.SelectorConflictEnded:
		l.writers.SelectorConflictEnded(x.Service, x.Time)
	case transition.ForeignAddresses:
		l.writers.ForeignAddresses(x)
	case transition.ForeignAddressesEnded:
		l.writers.ForeignAddressesEnded(x.Service, x.Object, x.Time)
	case transition.AddressesWithdrawn:
		l.writers.AddressesWithdrawn(x)
	case transition.WithdrawnAddressesReturned:
		l.writers.WithdrawnAddressesReturned(x.Service, x.Object, x.Time)
	case transition.AddressesContested:
		l.writers.AddressesContested(x)
	case transition.ServiceRemoved:
		l.outages.ServiceRemoved(x)
		l.addresses.serviceRemoved(x)
		l.writers.ServiceRemoved(x)
	}
}

// advance moves the current time to t and runs the timers that are due, in order of time. Therefore, the incidents do
// not depend on the number of queries.
func (l *Log) advance(t time.Time) {
	if now := l.records.Now(); now.After(t) {
		t = now // t is before now if the tracker waited for a cause
	}
	limit := t.Add(-delay)
	l.records.Timers.Run(limit, func(due time.Time) { l.records.Advance(due.Add(delay)) })
	l.records.Advance(t)
	if minute := limit.Truncate(sweepEvery); minute.After(l.swept) {
		l.sweep(minute)
	}
}

// sweep frees objects that incidents no longer need at t.
func (l *Log) sweep(t time.Time) {
	l.swept = t
	l.addresses.sweep(t)
	l.pods.sweep(t)
	l.outages.Sweep(t)
	l.nodes.sweep(t)
}

// Incidents returns copies of the incidents as of t. Running incidents come first, then pending ones, then all others.
// Within each group, the newest come first.
func (l *Log) Incidents(t time.Time) []incident.Incident { return ask(l, t, l.records.Incidents) }

// Overview is like Incidents, but omits the most expensive fields: Evidence, Timeline, Numbers, Summary and Remedy.
func (l *Log) Overview(t time.Time) []incident.Incident { return ask(l, t, l.records.Overview) }

// Changed is like Overview, but returns only the incidents that have changed since an earlier call. Their order is
// undefined. For `since`, pass the result `until` of the earlier call. To get all incidents, pass 0.
func (l *Log) Changed(t time.Time, since uint64) (all []incident.Incident, until uint64) {
	all = ask(l, t, func() []incident.Incident {
		all, until = l.records.Changed(since)
		return all
	})
	return all, until
}

// Incident returns a copy of the incident that has or had the given ID as of t. The result ok reports whether the incident exists.
func (l *Log) Incident(t time.Time, id string) (x incident.Incident, ok bool) {
	x = ask(l, t, func() incident.Incident {
		x, ok = l.records.Incident(id)
		return x
	})
	return x, ok
}

// Displaced counts the incidents that were dropped to make room for newer ones, as of t.
func (l *Log) Displaced(t time.Time) incident.Displaced { return ask(l, t, l.records.Displaced) }

// Standings returns the ongoing and the recently resolved incidents as of t. It also counts the incidents that have
// ended for good, by scope and final verdict.
func (l *Log) Standings(t time.Time) (all []incident.Standing, resolved map[incident.Resolution]uint64) {
	all = ask(l, t, func() []incident.Standing {
		resolved = l.records.Resolved()
		return l.records.Standings()
	})
	return all, resolved
}

// GracePeriod returns the facts that determine the recommended node monitor grace period as of t.
func (l *Log) GracePeriod(t time.Time) advice.GracePeriod {
	return ask(l, t, l.records.GracePeriodFacts)
}

// Silences returns the counts of silences as of t, by node, verdict and reason.
func (l *Log) Silences(t time.Time) []incident.Silences {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	return l.records.Silences()
}

// StartCounting sets all counters to zero at t. The incidents stay.
func (l *Log) StartCounting(t time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.records.StartCounting(t)
}

// Notices returns the changes of incidents between the last call and t.
func (l *Log) Notices(t time.Time) []incident.Notice { return ask(l, t, l.records.Notices) }

// LastNotices returns a notice, as of t, for each incident whose end has not been reported. Call it after the last
// transition.
func (l *Log) LastNotices(t time.Time) []incident.Notice { return ask(l, t, l.records.LastNotices) }

// ask answers a query about the incidents as of t.
func ask[T any](l *Log, t time.Time, question func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	return question()
}
