// Package evidence has what was seen of an incident: entries, each with its sentence, and the spans of a timeline.
package evidence

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Kind is what an entry shows.
type Kind uint8

// The kinds, in the order of entries that have the same time: what follows from another stands behind it.
const (
	LastHeartbeat Kind = iota + 1
	// HeartbeatBefore and UnknownBefore are the last heartbeat and the mark of a node that was lost before kubeflap watched. FoundLost: it was found so.
	HeartbeatBefore
	UnknownBefore
	FoundLost
	// ClockSetBack: heartbeats do not count because the node's clock was set back.
	ClockSetBack
	HeartbeatLate
	HeartbeatMissed
	NodeUnknown
	NodeNotReady
	// NodeNotMarked: the node is silent for longer than the grace period, and still Ready.
	NodeNotMarked
	// NodeWasUnknown: Ready turned Unknown and back while the watch was broken.
	NodeWasUnknown
	PodUpdated
	PodRestarted
	PodWasStale
	PodNotReady
	// EvictedUnknown and EvictedNotReady: the pod was evicted after its node turned Unknown, or reported not ready.
	EvictedUnknown
	EvictedNotReady
	SelectorConflict
	// EndpointsOverwritten: the addresses were removed before kubeflap looked.
	EndpointsOverwritten
	// ForeignAddresses: an object has addresses beside the selector. Contested: two writers undo each other's changes.
	ForeignAddresses
	Contested
	// AddressesWithdrawn: somebody took addresses of pods out of Endpoints. WithdrawnReturned: they are there again.
	AddressesWithdrawn
	EndpointsReset
	AddressLost
	// StaleReadd: clients put an address back whose container was being replaced.
	StaleReadd
	OutageStarted
	HeartbeatSeen
	// HeartbeatsInTime: the watch showed heartbeats late.
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
	// NodeRegistered: the machine of a deleted Node has registered again. NodeReplaced: another machine has its name. NodeUnclear: rebooted or replaced.
	NodeRegistered
	NodeReplaced
	NodeUnclear
	ServiceRemoved
	// APIServerStopped and LeaderLate: a Lease of the control plane was not renewed.
	APIServerStopped
	LeaderLate
	LeaderChanged
	// LeasesRead: Leases were read directly.
	LeasesRead
	WatchBroke
	WatchWorks
	// VerdictRevised: the verdict is another than before. Name says which, and why.
	VerdictRevised
)

// Entry is something that was seen, possibly several times.
type Entry struct {
	Kind Kind
	Time time.Time
	// Service is set if the entry is about a Service.
	Service transition.Service
	// Name is the node, the pod, the address or the resource that was seen first.
	Name string
	// Number and Duration are what the sentence needs, the largest if there are several.
	Number   int
	Duration time.Duration
	// Inexact: a watch was broken when what lasted for Duration began or ended.
	Inexact bool

	until time.Time
	count int
	// names are the nodes or pods, to count one that flaps once.
	names map[string]struct{}
}

// Entries are the evidence of an incident: the first 12 and the last 24.
type Entries struct{ entries bounded[*Entry] }

// NewEntries makes an empty list.
func NewEntries() Entries { return Entries{bounded[*Entry]{keepFirst: 12, keepLast: 24}} }

const (
	// batchWithin is how close in time entries of a kind become one. maxLookBack is how many entries are compared.
	batchWithin = 15 * time.Second
	maxLookBack = 8
)

// Add adds an entry, or makes it part of one of the same kind: thirty pods of a node are one entry, not thirty.
func (l *Entries) Add(e Entry) {
	e.count = max(e.count, 1)
	if e.until.IsZero() {
		e.until = e.Time
	}
	for _, x := range l.entries.newest(maxLookBack) {
		if e.ofService() && x.Service == e.Service && x.Kind == opposites[e.Kind] {
			break
		}
		if x.Kind == e.Kind && e.Kind != VerdictRevised && x.Service == e.Service && e.Time.Sub(x.until) <= batchWithin && x.Time.Sub(e.until) <= batchWithin {
			x.take(e)
			return
		}
	}
	l.entries.add(&e)
}

// opposites end a batch: what is lost after its return is a new entry.
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

// maxNames bounds the names of one entry. Over that, every entry counts.
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

// Take adds the entries of another list.
func (l *Entries) Take(from *Entries) {
	for _, e := range from.entries.all() {
		l.Add(*e)
	}
}

// LeftOut is how many entries are not kept.
func (l *Entries) LeftOut() int { return l.entries.dropped }

// Evidence is the entries with their sentences, sorted by time.
func (l *Entries) Evidence() []incident.Evidence {
	entries := l.entries.all()
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Kind, b.Kind)) })
	all := make([]incident.Evidence, 0, len(entries))
	for _, e := range entries {
		all = append(all, incident.Evidence{Time: e.Time, Until: e.until, Count: e.count, Text: e.sentence()})
	}
	return all
}
