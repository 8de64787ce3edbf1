// Package evidence keeps the evidence entries and the timeline of an incident. It also describes each entry in a
// sentence.
package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Kind classifies the observation in an entry.
type Kind uint8

// The kinds. Entries with the same time are sorted in this order, so that causes come before effects.
const (
	LastHeartbeat Kind = iota + 1
	// HeartbeatBefore is the last heartbeat of a node that was lost before kubeflap started. UnknownBefore means that
	// the node controller set Ready to Unknown before kubeflap started. FoundLost means that kubeflap's first list
	// showed the node as lost.
	HeartbeatBefore
	UnknownBefore
	FoundLost
	// ClockSetBack means that the node controller ignores heartbeats, because the node's clock was set back.
	ClockSetBack
	HeartbeatLate
	HeartbeatMissed
	NodeUnknown
	NodeNotReady
	// NodeNotMarked means that the node is still Ready although it has been silent for longer than the grace period.
	NodeNotMarked
	// NodeWasUnknown means that Ready turned Unknown and back to True while kubeflap's watch was broken.
	NodeWasUnknown
	PodUpdated
	// PodUpdatedNotReady means the same of a pod that was not Ready.
	PodUpdatedNotReady
	PodRestarted
	PodWasStale
	PodNotReady
	// EvictedUnknown means that the pod was evicted after its node turned Unknown. EvictedNotReady means that the pod
	// was evicted after its node reported Ready=False.
	EvictedUnknown
	EvictedNotReady
	SelectorConflict
	// EndpointsOverwritten means that manually managed addresses were removed before kubeflap started.
	EndpointsOverwritten
	// ForeignAddresses means that an object adds foreign addresses to a Service with a selector. Contested means that
	// two writers keep undoing each other's changes.
	ForeignAddresses
	Contested
	// AddressesWithdrawn means that somebody removed pod addresses from Endpoints. WithdrawnReturned means that these
	// addresses are back.
	AddressesWithdrawn
	EndpointsReset
	AddressLost
	// StaleReadd means that a simulated client put an address back too early. Its container was still being replaced.
	StaleReadd
	OutageStarted
	HeartbeatSeen
	// HeartbeatsInTime means that heartbeats were punctual, but the watch delivered them late.
	HeartbeatsInTime
	AddressReturned
	AddressRemoved
	AddressLeftOut
	OutageEnded
	NodeReady
	EndpointsRewritten
	SelectorConflictEnded
	ForeignEnded
	WithdrawnReturned
	NodeRebooted
	KubeletUpgraded
	NodeRemoved
	// NodeRegistered means that the machine of a deleted Node registered again. NodeReplaced means that another machine
	// registered under the Node's name. NodeUnclear means that the machine was either rebooted or replaced.
	NodeRegistered
	NodeReplaced
	NodeUnclear
	ServiceRemoved
	// APIServerStopped means that an API server stopped renewing its Lease. LeaderLate means that the leading
	// kube-controller-manager stopped renewing its Lease.
	APIServerStopped
	LeaderLate
	LeaderChanged
	// LeasesRead means that kubeflap read Leases directly, without its watch.
	LeasesRead
	WatchBroke
	WatchWorks
	// Stopped means that kubeflap stopped watching, until it was started again.
	Stopped
	// VerdictRevised means that the verdict changed. The entry's field Name describes the change and its reason.
	VerdictRevised
)

// Entry is an observation that may have been made several times.
type Entry struct {
	Kind Kind
	Time time.Time
	// Service is set if the entry is about a Service.
	Service transition.Service
	// Name is the observed node, pod, address or resource, or the first of several.
	Name string
	// Number and Duration appear in the entry's sentence. If the entry combines several observations, each field holds
	// the largest value.
	Number   int
	Duration time.Duration
	// Inexact reports whether Duration is approximate. This is the case if kubeflap did not see when the duration
	// started or ended.
	Inexact bool

	until time.Time
	count int
	// The set names holds the names of the observed nodes or pods, so that each of them counts only once.
	names map[string]struct{}
}

// LeaseStopped returns the entry for a control-plane component that stopped renewing its Lease.
func LeaseStopped(name string, since time.Time) Entry {
	if name == event.LeaseControllerManager {
		return Entry{Kind: LeaderLate, Time: since, Name: name}
	}
	return Entry{Kind: APIServerStopped, Time: since, Name: name}
}

// Entries holds the first and the last evidence entries of an incident.
type Entries struct{ bounded[*Entry] }

const (
	// batchWithin is the maximum time between two entries that are combined. A new entry can be combined only with one
	// of the newest maxLookBack entries.
	batchWithin = 15 * time.Second
	maxLookBack = 8
)

// Add adds an entry, or combines it with an earlier entry of the same kind. For example, thirty pods of a node become
// one entry.
func (l *Entries) Add(e Entry) {
	e.count = max(e.count, 1)
	if e.until.IsZero() {
		e.until = e.Time
	}
	if l.has(&e) {
		return
	}
	for _, x := range l.newest(maxLookBack) {
		if e.ofService() && x.Service == e.Service && x.Kind == opposites[e.Kind] {
			break
		}
		if x.Kind == e.Kind && e.Kind != VerdictRevised && x.Service == e.Service && e.Time.Sub(x.until) <= batchWithin && x.Time.Sub(e.until) <= batchWithin {
			x.take(e)
			return
		}
	}
	l.add(&e, firstEntries, lastEntries)
}

// has reports whether the list already contains e. It checks only entries about late Leases of control-plane
// components, because each lost node adds these entries again.
func (l *Entries) has(e *Entry) bool {
	if e.Kind != APIServerStopped && e.Kind != LeaderLate {
		return false
	}
	return slices.ContainsFunc(l.all(), func(x *Entry) bool {
		_, named := x.names[e.Name]
		return x.Kind == e.Kind && (x.Name == e.Name || named) && !e.Time.Before(x.Time) && !e.until.After(x.until)
	})
}

// opposites maps some kinds to their opposites. Two entries of such a kind are not combined if an entry of the opposite
// kind is between them.
var opposites = [VerdictRevised + 1]Kind{
	AddressLost: AddressReturned, AddressReturned: AddressLost, OutageStarted: OutageEnded, OutageEnded: OutageStarted,
	EndpointsReset: EndpointsRewritten, EndpointsRewritten: EndpointsReset,
}

func (e *Entry) take(more Entry) {
	if more.Time.Before(e.Time) {
		e.Time, e.Name = more.Time, more.Name
	}
	if more.until.After(e.until) {
		e.until = more.until
	}
	e.countIn(more)
	e.Number = max(e.Number, more.Number)
	e.Duration, e.Inexact = max(e.Duration, more.Duration), e.Inexact || more.Inexact
}

// maxNames limits the number of names in one entry. Up to this limit, an entry counts each name once. Beyond it, the
// entry counts each observation.
const maxNames = 200

func (e *Entry) countIn(more Entry) {
	if e.ofService() || len(e.names) >= maxNames {
		e.count += more.count
		return
	}
	if e.names == nil {
		e.names = map[string]struct{}{e.Name: {}}
	}
	e.names[more.Name] = struct{}{}
	for name := range more.names {
		e.names[name] = struct{}{}
	}
	e.count = len(e.names)
}

func (e *Entry) ofService() bool { return e.Service != transition.Service{} }

func (l *Entries) take(from *Entries) {
	for _, e := range from.all() {
		l.Add(*e)
	}
}

// described returns the entries with their sentences, sorted by time.
func (l *Entries) described() []incident.Evidence {
	entries := l.all()
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Kind, b.Kind)) })
	all := make([]incident.Evidence, 0, len(entries))
	for _, e := range entries {
		all = append(all, incident.Evidence{Time: e.Time, Until: e.until, Count: e.count, Text: e.sentence()})
	}
	return all
}
