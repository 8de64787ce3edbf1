// Package track computes the state of a cluster from its events. It detects when nodes, pods and Service addresses lose
// readiness, and determines the causes.
//
// The tracker does not read the system clock. Events and queries supply the time, so a replay of recorded events gives
// the same results as the live events.
package track

import (
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Settings configure a Tracker.
type Settings struct {
	// GracePeriod is the node monitor grace period. If it is 0, the tracker determines the grace period.
	GracePeriod time.Duration
	// AddressSource is the resource from which the tracker reads address states: KindEndpointSlice or KindEndpoints.
	// The zero value means EndpointSlices, or Endpoints if the cluster has no EndpointSlices.
	AddressSource event.Kind
	// KnownManagers names additional controllers that are allowed to add addresses to a Service with a selector.
	// Controllers for which event.IsSliceManager returns true are always allowed.
	KnownManagers []string
	// Namespaced is set if only one namespace is watched. Then no permission for Nodes and Leases is needed.
	Namespaced bool
}

// Tracker tracks the readiness of a cluster's objects. It is safe for concurrent use.
type Tracker struct {
	mu sync.Mutex
	parts
}

// parts holds the state of a Tracker.
type parts struct {
	// `found` is the list of transitions that the next call of Apply, Advance or Settle returns. Queries can also add
	// transitions to it.
	found transition.List

	vanished     vanished
	watches      *watches.Watches
	controlPlane *controlplane.ControlPlane
	nodes        *nodes.Nodes
	pods         *pods.Pods
	services     *services.Services
}

// New returns a Tracker that has not processed any events.
func New(settings Settings) *Tracker {
	t := &Tracker{parts: parts{watches: watches.New()}}
	t.watches.Namespaced = settings.Namespaced
	t.controlPlane = controlplane.New(settings.GracePeriod, t.watches, &t.found)
	t.nodes = nodes.New(t.controlPlane, t.watches, &t.found)
	t.pods = pods.New(t.watches, &t.found, t.nodes, func(w *pods.ReadinessLoss) { t.services.PodResolved(w) })
	t.services = services.New(settings.AddressSource, settings.KnownManagers, t.watches, &t.found, t.nodes, t.pods)
	t.nodes.ReadyOn = t.services.ReadyOn
	return t
}

// Apply processes one event. It returns, in order, the transitions found since the last call of Apply, Advance or
// Settle.
func (t *Tracker) Apply(e event.Event) []transition.Transition {
	t.mu.Lock()
	defer t.mu.Unlock()
	// The watches run concurrently, so events can arrive out of order.
	if now := t.watches.Now(); e.Seen.Before(now) {
		e.Seen = now
	}
	t.advance(e.Seen)
	if t.watches.AnyCutOff() && e.Type <= event.Deleted && e.Kind != event.KindCluster {
		t.watchesRestored(e.Seen)
	}
	t.watches.Count(e)
	for _, gone := range t.gone(e, t.watches.NotBefore(e.Kind, e.Seen)) {
		t.applyObject(gone)
	}
	if e.Type.HasObject() {
		t.applyObject(e)
	} else {
		t.applyWatch(e)
	}
	return t.found.Take()
}

func (t *parts) applyObject(e event.Event) {
	switch o := e.Object.(type) {
	case *event.Node:
		if turned := t.nodes.Apply(e, o); turned {
			t.pods.NodeReadyChanged(o.Name)
		}
		if e.Type != event.Listed && !e.IsInferred() {
			t.nodes.ShowOverdue(e.Seen)
		}
	case *event.Lease:
		t.nodes.ApplyLease(e, o)
	case *event.Pod:
		t.applyPod(e, o)
	case *event.Service:
		t.services.ApplyService(e, o)
	case *event.EndpointSlice:
		t.services.ApplySlice(e, o)
	case *event.Endpoints:
		t.services.ApplyEndpoints(e, o)
	case *event.ControlPlaneLease:
		t.controlPlane.Apply(e, o)
	case *event.Workload:
		t.services.ApplyWorkload(e, o)
	case *event.Cluster:
		t.controlPlane.Grace.SetVersion(o.Version)
	}
}

func (t *parts) applyPod(e event.Event, o *event.Pod) {
	if e.Type != event.Deleted {
		t.controlPlane.Grace.ApplyControllerManager(o)
		c := t.pods.Apply(e, o)
		t.services.PodChanged(o.UID, c, e.Seen)
	} else if c, ok := t.pods.Delete(e, o); ok {
		t.services.PodChanged(o.UID, c, e.Seen)
		t.controlPlane.Grace.ForgetControllerManager(o.UID)
	}
}

// applyWatch processes an event that contains no object, such as the end of a list or a break of the watch.
func (t *parts) applyWatch(e event.Event) {
	t.services.WatchChanges()
	switch e.Type {
	case event.Listing:
		t.watches.RecordListStart(e.Kind)
	case event.Synced:
		if e.Kind == event.KindEndpointSlice {
			t.services.SlicesListed(e.Seen)
		}
		wasMissing := t.watches.Missing(e.Kind)
		t.watches.RecordListEnd(e)
		if e.Kind == event.KindLease && wasMissing {
			t.nodes.LeasesChanged(e.Seen)
		}
		t.services.CompareAll(e.Seen)
		t.watchWorks(e)
		t.nodes.ListEnded(e.Seen)
		t.services.WatchChanged()
	case event.Up:
		if t.watchWorks(e); e.Kind == event.KindPod || e.Kind == event.KindEndpoints {
			t.services.CompareAll(e.Seen) // meanwhile, nothing could be compared with them
		}
		t.services.WatchChanged()
	case event.Down:
		t.watchBroke(e)
	case event.Bookmark:
		if e.Kind == event.KindNode {
			t.nodes.ShowOverdue(e.Seen)
		}
	case event.DirectReadStarted, event.DirectReadAnswered, event.DirectReadUnanswered:
		t.controlPlane.ApplyRead(e)
		t.findCutOff(e)
	case event.Unavailable:
		t.watches.RecordUnavailable(e)
		if e.Kind == event.KindLease {
			t.nodes.LeasesChanged(e.Seen)
		}
		t.nodes.ListEnded(e.Seen)
		t.services.WatchChanged()
	}
}

// watchBroke reports the break of a watch, unless the watch is optional.
func (t *parts) watchBroke(e event.Event) {
	wasCutOff := t.watches.IsCutOff(e.Kind)
	broke := t.watches.RecordBreak(e)
	if e.Kind == event.KindLease && (broke || wasCutOff && !t.watches.IsCutOff(e.Kind)) {
		t.controlPlane.Reads.WatchBroke()
	}
	if broke && e.Reason != event.ReasonEnded && !e.Kind.IsOptional() {
		t.found.Add(transition.WatchBroke{At: transition.At{Time: e.Seen}, Resource: e.Kind, Reason: e.Reason, Since: t.watches.DownSince(e.Kind)})
	}
}

func (t *parts) watchWorks(e event.Event) {
	blind := t.watches.RecordWorking(e)
	if e.Kind == event.KindDeployment || e.Kind == event.KindStatefulSet || e.Kind == event.KindPod {
		t.services.WorkloadsKnown()
	}
	if blind == 0 || e.Kind.IsOptional() {
		return
	}
	t.nodes.WatchWorks(e)
	t.found.Add(transition.WatchWorks{At: transition.At{Time: e.Seen}, Resource: e.Kind, Blind: blind})
}

// findCutOff uses failed direct reads to detect watches that are cut off. Such watches are open, but deliver no
// objects.
func (t *parts) findCutOff(e event.Event) {
	failed := t.controlPlane.Reads.Failed
	if failed.IsZero() || !controlplane.HidesEtcd(e) {
		return
	}
	for _, k := range t.watches.CutOff(failed, e.Reason) {
		t.found.Add(transition.WatchBroke{At: transition.At{Time: e.Seen}, Resource: k, Reason: e.Reason, Since: t.watches.DownSince(k)})
	}
}

// watchesRestored handles the first object that arrives after watches were cut off. The object shows that the API
// server can read from etcd again, so all these watches count as working.
func (t *parts) watchesRestored(seen time.Time) {
	t.services.WatchChanges()
	for _, e := range t.watches.RecordRestored(seen) {
		t.found.Add(transition.WatchWorks{At: transition.At{Time: seen}, Resource: e.Kind, Blind: t.watches.RecordWorking(e)})
	}
	t.services.WatchChanged()
}

// Advance moves the time forward without an event. As time passes, heartbeats can become late, and waits for evidence
// can end. Like Apply, Advance returns the new transitions in order.
func (t *Tracker) Advance(to time.Time) []transition.Transition {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(to)
	return t.found.Take()
}

func (t *parts) advance(to time.Time) {
	if to.Before(t.watches.Now()) {
		return
	}
	t.settleDue(to)
	t.watches.AdvanceTo(to)
	t.nodes.CountLate(to)
}

// settleDue does what is due by `to`, in chronological order, so the times of queries do not affect the results. For example,
// it settles the cause of a lost address after the wait for evidence.
func (t *parts) settleDue(to time.Time) {
	for due, do := t.watches.Due(to); do != nil; due, do = t.watches.Due(to) {
		t.watches.AdvanceTo(due)
		t.nodes.CountLate(due)
		do()
	}
}

// StartCounting sets all counters to zero at t. Counted time, such as the duration of outages, also begins at t. The
// states stay: for example, an ongoing outage goes on. Losses and outages whose class is not final are counted later.
func (t *Tracker) StartCounting(at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.advance(at)
	t.watches.StartCounting(at)
	t.nodes.StartCounting()
	t.pods.StartCounting()
	t.services.StartCounting()
}

// Settle ends all waits for evidence and reports the most likely causes. Call Settle after the last event. Like Apply,
// it returns the new transitions in order.
func (t *Tracker) Settle() []transition.Transition {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.pods.ResolveAll()
	t.services.SettleAll()
	return t.found.Take()
}
