package track

import (
	"math"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Node is what there is to know of a node as of the time of the question.
type Node struct {
	Name string
	// Created is when kubeflap first saw it: its counters began at 0 then.
	Created time.Time
	// HeartbeatKnown says that a heartbeat was seen or told of; HeartbeatAge is the time since.
	HeartbeatKnown bool
	HeartbeatAge   time.Duration
	// LongestInterval is the longest of the last ten minutes, the running one included.
	LongestInterval                              time.Duration
	Heartbeats, LateHeartbeats, MissedHeartbeats uint64
	Ready                                        event.Status
	TurnedReady, TurnedNotReady, TurnedUnknown   uint64
	Unready                                      time.Duration
	// ClockOffset is the smallest (seen minus renewTime) of the last ten minutes, if ClockKnown.
	ClockOffset time.Duration
	ClockKnown  bool
}

// Service is what there is to know of a Service as of the time of the question.
type Service struct {
	Namespace, Name              string
	Created                      time.Time
	Type                         string
	Selector                     bool
	Ready, NotReady, Terminating int
	TurnedReady, TurnedNotReady  uint64
	Added, Removed, Bounces      uint64
	Outages                      uint64
	OutageTime                   time.Duration
	// Lost counts ready addresses that were lost, Losses those whose cause is known, by that; LastLoss is when the last of
	// these was, by LastCause.
	Lost      uint64
	Losses    [numCauses]uint32
	LastLoss  time.Time
	LastCause Cause
	// ByHand: it has or had hand-written addresses; the rest speaks of these.
	ByHand                                 bool
	ResetsWithSelector, ResetsSelectorless uint64
	SelectorConflict                       bool
	// Disputed counts the addresses on whose readiness Endpoints, slices and pods
	// have disagreed for more than 10 s.
	Disputed int
}

// Namespace is what is counted per namespace.
type Namespace struct {
	Name           string
	InPlaceUpdates uint64
	// UngatedUpdates are the in-place updates of pods without a readiness gate.
	UngatedUpdates uint64
	SilentRestarts uint64
	// Unready counts the times that a pod's Ready left True; Transitions the changes of pods' Ready whose cause is known, by the
	// status that it took and by Cause.
	Unready     uint64
	Transitions [3][numCauses]uint64
}

// Watch is the state of the watch of one resource.
type Watch struct {
	Resource event.Kind
	// Events counts by type.
	Events [event.Bookmark + 1]uint64
	// Relists are the lists after the first; Errors the failed lists and watches.
	Relists, Errors uint64
	// Synced: the first list is done. Up: the watch works now.
	Synced, Up bool
	// Unavailable is why the resource cannot be watched; empty if it can.
	Unavailable event.Reason
	LastEvent   time.Time
	Blind       time.Duration
	// Since is since when there is no working watch, and Reason why; zero while it works. Before the first list
	// that is the fold's beginning, zero before its first event.
	Since  time.Time
	Reason event.Reason
}

// Nodes appends the nodes as of t to into.
func (f *Fold) Nodes(t time.Time, into []Node) []Node {
	f.mu.Lock()
	defer f.mu.Unlock()
	t = f.asOf(t)
	all := f.nodesInOrder()
	into = slices.Grow(into, len(all))
	for _, n := range all {
		if n.exists {
			into = append(into, f.readNode(n, t))
		}
	}
	return into
}

// asOf lets the time of a question pass; the fold's time may be later already.
func (f *Fold) asOf(t time.Time) time.Time {
	f.advance(t)
	return f.now
}

func (f *Fold) readNode(n *node, t time.Time) Node {
	h := &n.heartbeat
	v := Node{
		Name: n.name, Created: n.created,
		HeartbeatKnown: !h.last.IsZero() && !f.watches[event.KindLease].missing, HeartbeatAge: t.Sub(h.last), LongestInterval: f.longestInterval(n, t),
		Heartbeats: h.total, LateHeartbeats: h.lates, MissedHeartbeats: h.misses,
		Ready: n.ready, Unready: n.unready,
		TurnedReady:    n.transitions[event.StatusTrue],
		TurnedNotReady: n.transitions[event.StatusFalse],
		TurnedUnknown:  n.transitions[event.StatusUnknown],
	}
	if n.ready != event.StatusTrue {
		v.Unready += t.Sub(n.since)
	}
	lead, ok := h.leads.max(t)
	v.ClockOffset, v.ClockKnown = -max(lead, -math.MaxInt64), ok // the least duration has no opposite
	return v
}

// Services appends the Services as of t to into.
func (f *Fold) Services(t time.Time, into []Service) []Service {
	f.mu.Lock()
	defer f.mu.Unlock()
	t = f.asOf(t)
	all := f.servicesInOrder()
	into = slices.Grow(into, len(all))
	for _, s := range all {
		if s.exists {
			into = append(into, s.read(t))
		}
	}
	return into
}

func (s *service) read(t time.Time) Service {
	count := &s.addresses.count
	return Service{
		Namespace: s.key.namespace, Name: s.key.name, Created: s.created, Type: s.kind, Selector: s.selector,
		Ready: count[stateReady], NotReady: count[stateNotReady], Terminating: count[stateTerminating],
		TurnedReady: s.flips[0], TurnedNotReady: s.flips[1],
		Added: s.added, Removed: s.removed, Bounces: s.bounces,
		Outages: s.outages, OutageTime: s.outageAsOf(t),
		Lost: s.lost, Losses: s.losses, LastLoss: s.lastLoss, LastCause: s.lastCause,
		ByHand:             s.byHand.ever,
		ResetsWithSelector: s.byHand.resets[true], ResetsSelectorless: s.byHand.resets[false],
		SelectorConflict: s.inConflict(), Disputed: s.disputedAsOf(t),
	}
}

// Namespaces appends, as of t, the namespaces that have pods, or had some in the last hour, to into.
func (f *Fold) Namespaces(t time.Time, into []Namespace) []Namespace {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asOf(t)
	for _, n := range f.namespacesInOrder() {
		into = append(into, Namespace{n.name, n.inPlaceUpdates, n.ungatedUpdates, n.silentRestarts, n.unready, n.transitions})
	}
	return into
}

// Tenant is what consumers of a namespace's Services would have done, by window (see Windows).
type Tenant struct {
	Namespace        string
	Updates, Bounces [NumWindows]uint64
}

// Tenants appends, as of t, the namespaces that have Services, or had some in the last hour, to into.
func (f *Fold) Tenants(t time.Time, into []Tenant) []Tenant {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asOf(t)
	for _, x := range f.tenantsInOrder() {
		into = append(into, Tenant{x.name, x.updates, x.bounces})
	}
	return into
}

// Watches appends the state of each resource's watch as of t to into.
func (f *Fold) Watches(t time.Time, into []Watch) []Watch {
	return f.watchesThat(t, into, func(*watch, time.Time) bool { return true })
}

// Unwatched gives what the fold does not see as of t: resources that cannot be watched, that are still to be listed, and
// those whose watch is broken, unless that counts as no break.
func (f *Fold) Unwatched(t time.Time) []Watch {
	return f.watchesThat(t, nil, func(w *watch, t time.Time) bool { return !w.synced || w.missing || w.brokenFor(t) > tolerance })
}

// unreadyAfter is how long the watch of a resource may be broken until the fold is no more fit to be asked: an API server that
// is replaced by another one takes less.
const unreadyAfter = time.Minute

// Unready gives what makes the fold unfit to be asked as of t: resources that are still to be listed, and those that
// were seen and have not been for long. What could never be watched is said (Unwatched), but waiting does not help.
func (f *Fold) Unready(t time.Time) []Watch {
	return f.watchesThat(t, nil, func(w *watch, t time.Time) bool {
		return !w.synced && !w.missing || w.brokenFor(t) > unreadyAfter
	})
}

func (f *Fold) watchesThat(t time.Time, into []Watch, match func(*watch, time.Time) bool) []Watch {
	f.mu.Lock()
	defer f.mu.Unlock()
	t = f.asOf(t)
	for _, k := range event.Kinds() {
		if w := &f.watches[k]; match(w, t) {
			into = append(into, f.readWatch(k, t))
		}
	}
	return into
}

func (f *Fold) readWatch(k event.Kind, t time.Time) Watch {
	w := &f.watches[k]
	v := Watch{
		Resource: k, Events: w.events, Relists: w.relists, Errors: w.errors,
		Synced: w.synced && !w.missing, Up: w.up, LastEvent: w.lastEvent, Blind: w.blindAsOf(t), Since: w.brokenSince(),
	}
	if !w.synced {
		v.Since = f.begin
	}
	if !v.Since.IsZero() {
		v.Reason = w.reason
	}
	if w.missing {
		v.Unavailable, v.Reason = w.reason, w.reason
	}
	return v
}

// Synced reports whether every resource that can be watched has been listed.
func (f *Fold) Synced() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, k := range event.Kinds() {
		if w := &f.watches[k]; !w.synced && !w.missing {
			return false
		}
	}
	return true
}

// AddressSource is the resource that address states are read from now.
func (f *Fold) AddressSource() event.Kind {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.source
}
