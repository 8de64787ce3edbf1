// Package flap folds the events of a cluster into what readers ask for: which
// nodes, pods and Service addresses lost readiness, how often and how long.
//
// The fold reads no clock: time comes in with the events and the questions, so
// the same events give the same answers live and replayed, at any speed.
package track

import (
	"bytes"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Settings are what the operator decides.
type Settings struct {
	// GracePeriod is the node monitor grace period if it is known beforehand;
	// 0 lets the fold find it out.
	GracePeriod time.Duration
	// BounceWindow is how soon an address must be back for a bounce.
	BounceWindow time.Duration
	// AddressSource is the resource that address states are read from, KindEndpointSlice or
	// KindEndpoints; 0 takes EndpointSlices where the cluster has them, else Endpoints.
	AddressSource event.Kind
}

// Tracker is the state of a cluster's readiness. It is safe for concurrent use.
type Tracker struct {
	mu       sync.Mutex
	settings Settings
	report   func(Finding)
	found    []transition.Transition

	// begin is the time of the first event. now is that of the newest event or question: the fold's time never goes back.
	begin time.Time
	now   time.Time
	// version is the resourceVersion of the object of the event that is folded in, empty if it has none.
	version string
	watches [event.NumKinds]watch
	lags    lags
	source  event.Kind

	grace graceFinder
	beats heartbeatWatch
	nodes map[string]*node

	services map[serviceKey]*service
	// others are Services known only by slices that name them as their owner: not
	// seen yet, or replaced by another of their name.
	others    map[ownedKey]*service
	slices    map[event.UID]*holder
	endpoints map[event.UID]*holder
	// pasts are the Services as they were before the list of slices that is coming in.
	pasts []*past
	// scratch is memory for sorting, to be used again.
	scratch struct{ before, after []placed }

	pods       map[event.UID]*pod
	namespaces map[string]*namespace

	// losses wait for their cause.
	losses lossQueue
	// turns are the pods that are not Ready and whose cause waits for their node, by UID, turnsOn they by node; probeTurns and markTurns are
	// they by their tentative cause, in the order in which they happened.
	turns                 map[event.UID]*turn
	turnsOn               map[string]map[event.UID]*turn
	probeTurns, markTurns queue[*turn]
	// aheads are changes of addresses whose pods were not seen to turn yet, for a moment.
	aheads []ahead
	// departed are pods that are gone, for a while.
	departed   map[event.UID]departure
	departures queue[departed]
	// emptiedNamespaces and emptiedTenants are those whose last pod or Service went, in this order.
	emptiedNamespaces queue[emptied[*namespace]]
	emptiedTenants    queue[emptied[*tenant]]
	// stuck are pods that are not Ready though their containers are, and since when.
	stuck map[event.UID]time.Time
	// onLost counts the Ready pods of the nodes that the last question found lost, by namespace.
	onLost map[string]map[string]int

	// gathering are the Services with an open window, by window, in the order in which they close.
	gathering [NumWindows]queue[*service]
	// turnsForgotten is when the consumers last forgot what is too old to bounce.
	turnsForgotten time.Time
	tenants        map[string]*tenant
	// order is that in which readers get what has a name.
	order order
	// doubts are the Services to be compared, in the order in which they changed.
	doubts queue[doubt]
}

// New makes an empty fold. report is called for each Finding, in order, while
// the fold is locked: it must be quick and must not call the fold; nil drops them.
func New(settings Settings) *Tracker { return newReporting(settings, nil) }

func newReporting(settings Settings, also func(Finding)) *Tracker {
	f := &Tracker{
		settings:   settings,
		source:     settings.AddressSource,
		grace:      newGraceFinder(settings.GracePeriod),
		nodes:      map[string]*node{},
		services:   map[serviceKey]*service{},
		others:     map[ownedKey]*service{},
		slices:     map[event.UID]*holder{},
		endpoints:  map[event.UID]*holder{},
		pods:       map[event.UID]*pod{},
		namespaces: map[string]*namespace{},
		departed:   map[event.UID]departure{},
		turns:      map[event.UID]*turn{},
		turnsOn:    map[string]map[event.UID]*turn{},
		lags:       lags{seen: make([]seenVersion, 0, lagBuckets)},
		losses:     lossQueue{of: map[event.UID]*loss{}},
		stuck:      map[event.UID]time.Time{},
		onLost:     map[string]map[string]int{},
		tenants:    map[string]*tenant{},
	}
	if f.source == 0 {
		f.source = event.KindEndpointSlice
	}
	f.report = func(x Finding) {
		f.found = append(f.found, transitionOf(x))
		if also != nil {
			also(x)
		}
	}
	f.graceChanged()
	return f
}

func (f *Tracker) take() []transition.Transition {
	found := f.found
	f.found = nil
	return found
}

// Apply folds one event in.
func (f *Tracker) Apply(e event.Event) []transition.Transition {
	return f.applied(e)
}

func (f *Tracker) applied(e event.Event) (found []transition.Transition) {
	f.mu.Lock()
	defer f.mu.Unlock()
	defer func() { found = f.take() }()
	// Six watches deliver side by side: an event may come in behind a later one.
	if e.Seen.Before(f.now) {
		e.Seen = f.now
	}
	if f.begin.IsZero() {
		f.begin = e.Seen
	}
	f.advance(e.Seen)
	f.countEvent(e)
	f.version = ""
	if !e.Type.HasObject() {
		f.applyWatch(e)
		return nil
	}
	if e.Object != nil {
		f.version = e.Object.Metadata().Version
	}
	if e.Type <= event.Deleted {
		f.lags.note(e.Kind, f.version, e.Seen)
	}
	switch o := e.Object.(type) {
	case *event.Node:
		f.applyNode(e, o)
	case *event.Lease:
		f.applyLease(e, o)
	case *event.Pod:
		f.applyPod(e, o)
	case *event.Service:
		f.applyService(e, o)
	case *event.EndpointSlice:
		f.applySlice(e, o)
	case *event.Endpoints:
		f.applyEndpoints(e, o)
	case *event.Cluster:
		f.grace.version = o.Version
		f.graceChanged()
	}
	return nil
}

// Advance lets time pass up to t without an event: what becomes late by the
// mere passing of time is counted and reported.
func (f *Tracker) Advance(t time.Time) []transition.Transition {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.advance(t)
	return f.take()
}

func (f *Tracker) advance(t time.Time) {
	if t.Before(f.now) {
		return
	}
	f.settleOverdue(t)
	f.now = t
	f.countLate(t)
	f.forgetDeparted(t)
	f.forgetEmptied(t)
	f.closeWindows(t)
	f.compareDoubted(t)
}

// first reports whether e is of the first list of its resource: what that
// shows is the baseline, not a change.
func (f *Tracker) first(e event.Event) bool {
	return e.Type == event.Listed && !f.watches[e.Kind].synced
}

// sweep forgets the objects of a kind that its newest list did not show.
func (f *Tracker) sweep(e event.Event) {
	switch e.Kind {
	case event.KindNode:
		f.sweepNodes(e)
	case event.KindLease:
		f.sweepLeases()
	case event.KindPod:
		sweepMap(f.pods, f.generation(e), func(p *pod) uint32 { return p.generation }, f.forgetPod)
	case event.KindService:
		f.sweepServices(e)
	case event.KindEndpointSlice:
		sweepMap(f.slices, f.generation(e), generationOfHolder, func(id event.UID) { f.dropHolder(e, f.slices, id) })
		f.compareWithPast(e)
	case event.KindEndpoints:
		sweepMap(f.endpoints, f.generation(e), generationOfHolder, func(id event.UID) { f.dropHolder(e, f.endpoints, id) })
	}
}

func (f *Tracker) moment(t time.Time) event.Moment { return event.MomentOf(t, f.begin) }

func (f *Tracker) time(m event.Moment) time.Time { return m.Time(f.begin) }

func (f *Tracker) generation(e event.Event) uint32 { return f.watches[e.Kind].generation }

// sweepMap calls drop for each entry that is of an older generation, in the order
// of their UIDs: the same events give the same findings, in the same order.
func sweepMap[V any](m map[event.UID]V, generation uint32, of func(V) uint32, drop func(event.UID)) {
	for _, id := range sortedIDs(m) {
		if of(m[id]) != generation {
			drop(id)
		}
	}
}

func sortedIDs[V any](m map[event.UID]V) []event.UID {
	return slices.SortedFunc(maps.Keys(m), func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) })
}
