package incident

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Entry is an observation that may have been made several times.
type Entry struct {
	Kind EntryKind
	Time time.Time
	// Service is set if the entry is about a Service.
	Service transition.Service
	// Name is the observed node, pod, address or resource, or the first of several.
	Name string
	// Number and Duration appear in the entry's sentence. If the entry combines several observations, each field holds
	// the largest value.
	Number   int
	Duration time.Duration
	// AtMost is longer than Duration if kubeflap did not see when the duration started or ended: it is then from Duration
	// to AtMost.
	AtMost time.Duration
	// Said holds the words of a kubelet or of a condition, or is nil. Why holds what the API says about a pod. Both can
	// contain anything.
	Said *Said
	Why  string

	until time.Time
	count int
	// The field varies is set if the combined observations have different durations.
	varies bool
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

// batchWithin is the maximum time between two entries that are combined.
const batchWithin = 15 * time.Second

// Add adds an entry, or combines it with an earlier entry of the same kind. For example, thirty pods of a node become
// one entry.
func (l *Entries) Add(e Entry) {
	e.count = max(e.count, 1)
	if e.until.IsZero() {
		e.until = e.Time
	}
	for x := range l.newestFirst {
		if e.ofService() && x.Service == e.Service && x.Kind == opposites[e.Kind] {
			break
		}
		if x.Kind == e.Kind && e.Kind != VerdictRevised && e.Kind != OutageWaited && x.Service == e.Service && x.says(&e) && e.Time.Sub(x.until) <= batchWithin && x.Time.Sub(e.until) <= batchWithin {
			x.take(e)
			return
		}
	}
	l.add(&e, firstEntries, lastEntries)
}

// opposites maps some kinds to their opposites. Two entries of such a kind are not combined if an entry of the opposite
// kind is between them.
var opposites = map[EntryKind]EntryKind{
	AddressLost: AddressReturned, AddressReturned: AddressLost, OutageStarted: OutageEnded, OutageEnded: OutageStarted,
	EndpointsReset: EndpointsRewritten, EndpointsRewritten: EndpointsReset,
}

// says reports whether two entries quote the same words and, unless they are about a Service, the same number.
func (e *Entry) says(x *Entry) bool {
	if e.Number != x.Number && !e.ofService() || withoutNumbers(e.Why) != withoutNumbers(x.Why) {
		return false
	}
	return e.Said == x.Said || e.Said != nil && x.Said != nil && like(e.Said.First, x.Said.First)
}

func (e *Entry) take(more Entry) {
	if more.Time.Before(e.Time) {
		e.Time, e.Name = more.Time, more.Name
	}
	e.until = Later(e.until, more.until)
	e.countIn(more)
	e.varies = e.varies || more.varies || phrase.Duration(e.Duration) != phrase.Duration(more.Duration)
	e.Number = max(e.Number, more.Number)
	e.Duration, e.AtMost = max(e.Duration, more.Duration), max(e.AtMost, more.AtMost)
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

// described returns the entries with their sentences, sorted by time.
func (l *Entries) described() []Evidence {
	entries := l.all()
	slices.SortStableFunc(entries, func(a, b *Entry) int { return cmp.Or(a.Time.Compare(b.Time), cmp.Compare(a.Kind.rank, b.Kind.rank)) })
	all := make([]Evidence, 0, len(entries))
	for _, e := range entries {
		all = append(all, Evidence{Time: e.Time.UTC(), Until: e.until.UTC(), Count: e.count, Text: e.sentence()})
	}
	return all
}
