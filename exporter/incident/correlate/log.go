// Package correlate decides which transitions belong to the same incident.
//
// It reads no clock, like the tracker: time comes in with the transitions and the
// questions, and a question changes nothing but the time. So the same transitions give the same incidents at any speed.
package correlate

import (
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/outages"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate/writers"
	"github.com/kubeflap/kubeflap/exporter/incident/evidence"
	"github.com/kubeflap/kubeflap/exporter/incident/record"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// delay is how long after a change its transition may come in. A loss waits a second for its cause, and up to 15 s
	// where a watch is behind. What becomes due by the passing of time waits for a second.
	delay = time.Second
	// sweepEvery is how often sweep runs.
	sweepEvery = time.Minute
)

// Log is the incidents of a cluster. It is safe for concurrent use.
type Log struct {
	mu sync.Mutex
	// swept is when sweep last ran.
	swept   time.Time
	records *record.Store

	nodes     *nodes
	pods      *pods
	outages   *outages.Outages
	writers   writers.Writers
	addresses *addresses
}

// New makes an empty log that keeps the newest incidents, size of them.
func New(size int) *Log {
	records := record.NewStore(size)
	nodes := &nodes{records: records, heard: map[string]time.Time{}, troubled: map[string]*node{}, gone: map[string]removedNode{}}
	pods := &pods{records, nodes, map[podKey]*pod{}}
	writers := writers.New(records)
	outages := outages.New(records, writers)
	addresses := &addresses{records, nodes, pods, outages, map[record.AddressKey]*address{}}
	return &Log{records: records, nodes: nodes, pods: pods, outages: outages, writers: writers, addresses: addresses}
}

// Observe handles transitions in their order.
func (l *Log) Observe(found ...transition.Transition) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range found {
		l.advance(x.Found())
		l.observe(x)
	}
}

func (l *Log) observe(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		l.nodes.heartbeatSeen(x)
	case transition.PodReadyChanged:
		l.pods.readyChanged(x)
	case transition.PodEvicted:
		l.pods.evicted(x)
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
		l.records.AddToNodes(evidence.Entry{Kind: evidence.WatchBroke, Time: x.Time, Name: x.Resource.String()})
	case transition.WatchWorks:
		if x.Resource == event.KindLease {
			l.records.LeaseBreak.To = x.Time
		}
		l.records.AddToNodes(evidence.Entry{Kind: evidence.WatchWorks, Time: x.Time, Name: x.Resource.String(), Duration: x.Blind})
	default:
		l.observeNode(x)
		l.observeControlPlane(x)
		l.observeService(x)
	}
}

// observeNode handles a transition of a node.
func (l *Log) observeNode(x transition.Transition) {
	switch x := x.(type) {
	case transition.GracePeriodKnown:
		l.records.Learn(x)
		l.nodes.known = x.Nodes
	case transition.HeartbeatLate:
		l.nodes.heartbeatLate(x)
	case transition.ClockSetBack:
		l.nodes.clockSetBack(x)
	case transition.HeartbeatsWereInTime:
		l.nodes.wereInTime(x)
	case transition.NodeFoundLost:
		l.nodes.foundLost(x)
	case transition.HeartbeatMissed:
		l.nodes.heartbeatMissed(x)
	case transition.NodeReadyChanged:
		if x.To == event.StatusTrue {
			l.nodes.turnedReady(x)
		} else {
			l.nodes.turnedNotReady(x)
		}
	case transition.NodeReadyMissed:
		l.nodes.readyMissed(x)
	case transition.NodeNotMarked:
		l.nodes.notMarked(x)
	case transition.NodeRebooted:
		l.nodes.rebooted(x)
	case transition.KubeletUpgraded:
		l.nodes.upgraded(x)
	case transition.NodeRemoved:
		l.nodes.removed(x)
	case transition.NodeReturned:
		l.nodes.returned(x)
	}
}

// observeService handles a transition of a Service or of its addresses.
func (l *Log) observeService(x transition.Transition) {
	switch x := x.(type) {
	case transition.AddressLost:
		l.addresses.lost(x)
	case transition.AddressRemoved:
		l.addresses.gone(x.Address, x.Time, evidence.AddressRemoved)
	case transition.AddressLeftOut:
		l.addresses.gone(x.Address, x.Time, evidence.AddressLeftOut)
	case transition.AddressAdded:
		if x.Ready {
			l.addresses.ready(x.Address, x.Time)
		}
	case transition.AddressReady:
		l.addresses.ready(x.Address, x.Time)
	case transition.AddressBounced:
		l.addresses.returned(keyOf(x.Address), x.Time)
	case transition.ConsumerBounced:
		l.addresses.consumerBounced(x)
	case transition.ConsumerReaddedStale:
		l.addresses.consumerReadded(x)
	case transition.OutageStarted:
		l.outages.Started(x)
	case transition.OutageEnded:
		l.outages.Ended(x)
	case transition.EndpointsReset:
		l.writers.EndpointsReset(x)
	case transition.EndpointsRewritten:
		l.writers.EndpointsRewritten(x)
	case transition.SelectorConflict:
		l.writers.Conflict(x)
	case transition.SelectorConflictEnded:
		l.writers.ConflictEnded(x.Service, x.Time)
	case transition.ForeignAddresses:
		l.writers.ForeignAddresses(x)
	case transition.ForeignAddressesEnded:
		l.writers.ForeignEnded(x.Service, x.Object, x.Time)
	case transition.AddressesWithdrawn:
		l.writers.Withdrawn(x)
	case transition.WithdrawnAddressesReturned:
		l.writers.WithdrawnReturned(x.Service, x.Object, x.Time)
	case transition.AddressesContested:
		l.writers.Contested(x)
	case transition.ServiceRemoved:
		l.outages.Removed(x)
		l.addresses.serviceRemoved(x)
		l.writers.ServiceRemoved(x)
	}
}

// advance runs the timers that are due by t, in the order of their times. So it does not matter how often somebody asks.
func (l *Log) advance(t time.Time) {
	if now := l.records.Now(); now.After(t) {
		t = now // what happened to an address before its loss was decided is found with the loss
	}
	limit := t.Add(-delay)
	l.records.Timers.Run(limit, func(due time.Time) { l.records.Advance(due.Add(delay)) })
	l.records.Advance(t)
	if minute := limit.Truncate(sweepEvery); minute.After(l.swept) {
		l.sweep(minute)
	}
}

// sweep frees the memory of objects that no incident needs any more at t.
func (l *Log) sweep(t time.Time) {
	l.swept = t
	l.addresses.sweep(t)
	l.pods.sweep(t)
	l.outages.Sweep(t)
	l.nodes.sweep(t)
}

// Incidents are copies of the incidents as of t: the running ones first, then the pending ones, and the newest first.
func (l *Log) Incidents(t time.Time) []incident.Incident { return ask(l, t, l.records.Incidents) }

// Overview are the same without Evidence, Timeline, Numbers, Summary and Remedy, which cost most.
func (l *Log) Overview(t time.Time) []incident.Incident { return ask(l, t, l.records.Overview) }

// Incident is a copy of the incident with an ID as of t; ok reports whether there is one.
func (l *Log) Incident(t time.Time, id string) (x incident.Incident, ok bool) {
	x = ask(l, t, func() incident.Incident {
		x, ok = l.records.Incident(id)
		return x
	})
	return x, ok
}

// Standings are the ongoing incidents and those that were resolved a short time ago, as of t. Resolved counts all that have ended for good.
func (l *Log) Standings(t time.Time) (all []incident.Standing, resolved map[incident.Resolution]uint64) {
	all = ask(l, t, func() []incident.Standing {
		resolved = l.records.Resolved()
		return l.records.Standings()
	})
	return all, resolved
}

// RecommendedGracePeriod is the node monitor grace period to set as of t; 0 if there is none to recommend.
func (l *Log) RecommendedGracePeriod(t time.Time) time.Duration {
	return ask(l, t, l.records.RecommendedGracePeriod)
}

// Silences counts the silences of each node that had some as of t, by node, and by what was decided about them.
func (l *Log) Silences(t time.Time) []incident.Silences {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	return l.records.Silences()
}

// Notices report what has happened to the incidents since they were last asked for, as of t.
func (l *Log) Notices(t time.Time) []incident.Notice { return ask(l, t, l.records.Notices) }

// LastNotices report the incidents whose end was not reported, as of t, when no more transitions will come.
func (l *Log) LastNotices(t time.Time) []incident.Notice { return ask(l, t, l.records.LastNotices) }

// ask answers a question about the incidents as of t.
func ask[T any](l *Log, t time.Time, question func() T) T {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance(t)
	return question()
}
