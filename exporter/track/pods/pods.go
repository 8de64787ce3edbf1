// Package pods tracks a cluster's pods. It determines why their Ready conditions change, and counts in-place updates.
// It also counts silent restarts, in which a container restarts while the pod stays Ready.
package pods

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// facts is what all parts of this package use.
type facts struct {
	watches *watches.Watches
	found   *transition.List
	nodes   *nodes.Nodes
	store
}

// Pods holds a cluster's pods.
type Pods struct {
	*facts
	undecided
	namespaces
}

// New returns an empty tracker of pods. The tracker calls `resolved` when the cause of a readiness loss has been
// determined.
func New(watches *watches.Watches, found *transition.List, nodes *nodes.Nodes, resolved func(*ReadinessLoss)) *Pods {
	f := &facts{watches, found, nodes, newStore()}
	return &Pods{
		facts: f, undecided: undecided{f, resolved, map[string][]*ReadinessLoss{}}, namespaces: namespaces{f, map[string]*namespace{}},
	}
}

// Change describes the effect of an event on a pod.
type Change struct {
	// ReadyChanged reports whether the pod's Ready condition changed. Ready reports whether the condition is True now.
	ReadyChanged, Ready bool
	// Updated reports whether an image was changed in place.
	Updated bool
	// Workload is the workload of a pod that appeared. It is zero if the pod is not new, or if its workload is unknown.
	Workload event.WorkloadName
	// Services are the Services that contain the pod. Some may no longer exist.
	Services []Service
	// Labels holds the pod's labels. It is nil if they are unknown, or if the pod was deleted.
	Labels map[string]string
}

// Apply handles a pod event other than a deletion.
func (x *Pods) Apply(e event.Event, o *event.Pod) Change {
	p := x.Find(o.UID)
	if p == nil {
		return x.add(e, o)
	}
	x.noteRemovalCause(p, o, e.Seen)
	ready := readyOf(o)
	// A list can show that an image changed, but not whether the pod was running at that time.
	updated := false
	if e.Type == event.Modified && p.running {
		updated = x.compareContainers(p, e, o, p.ready == event.StatusTrue && ready == event.StatusTrue)
	}
	if p.ready != event.StatusTrue {
		x.reconsider(p, o, e.Seen)
	}
	changed := ready != p.ready
	if changed {
		x.readyChanged(p, e, o)
	}
	x.set(p, o, e.Seen)
	return Change{ReadyChanged: changed, Ready: p.IsReady(), Updated: updated, Services: x.of(p).services, Labels: o.Labels}
}

func (x *Pods) add(e event.Event, o *event.Pod) (c Change) {
	p := x.newPod(o, x.join(o.Namespace))
	x.set(p, o, e.Seen)
	p.everReady = p.ready == event.StatusTrue
	if !x.watches.First(e) {
		c.Workload = x.appear(p, e.Seen)
	}
	return c
}

func (x *Pods) set(p *Pod, o *event.Pod, t time.Time) {
	node, occupied := x.Node(p), x.occupies(p)
	x.update(p, o)
	x.noteWait(p, o, t)
	if x.Node(p) == node && x.occupies(p) == occupied {
		return
	}
	if occupied {
		x.nodes.CountPods(node, -1, !o.DeletionTimestamp.IsZero())
	}
	if x.occupies(p) {
		x.nodes.CountPods(x.Node(p), 1, false)
	}
}

// Delete handles a pod's deletion. ok is false if the pod is unknown.
func (x *Pods) Delete(e event.Event, o *event.Pod) (c Change, ok bool) {
	p := x.Find(o.UID)
	if p == nil {
		return Change{}, false
	}
	x.noteRemovalCause(p, o, e.Seen)
	x.resolveAllOf(p)
	if x.occupies(p) {
		x.nodes.CountPods(x.Node(p), -1, true)
	}
	x.rememberDeleted(p, e)
	x.leave(p, e.Seen)
	return Change{Services: x.of(p).services}, true
}

// keepDeletedFor is the time for which the state of a deleted pod is kept, because the pod watch can be ahead of the other
// watches.
const keepDeletedFor = 30 * time.Second

// rememberDeleted keeps a deleted pod. Its RemovalCause stays Unknown if the deletion was inferred from a list, because
// kubeflap then did not see who or what deleted the pod.
func (x *Pods) rememberDeleted(p *Pod, e event.Event) {
	if p.RemovalCause == cause.Unknown && !e.IsInferred() {
		p.RemovalCause = cause.PodDeleted
	}
	id, at := p.ID, x.watches.Moment(e.Seen)
	p.deleted, x.note(p).deletedAt = true, at
	x.watches.Schedule(e.Seen.Add(keepDeletedFor), watches.RankForget, func() {
		if p, deleted := x.Recall(id); deleted && x.was(p).deletedAt == at {
			x.forget(id)
		}
	})
}

// Known calls a function for each existing pod. The value reports whether the pod has been seen since the last list began.
func (x *Pods) Known(do func(event.Meta, *bool)) {
	for _, p := range x.pods.all() {
		if !p.deleted {
			do(event.Meta{UID: p.ID}, &p.seen)
		}
	}
}

// IsBeingUpdated reports whether an in-place update of the pod is in progress at t. The update begins when an image
// changes. It ends when the pod is Ready with a new container, or after UpdateWindow.
func (x *Pods) IsBeingUpdated(id event.UID, t time.Time) bool {
	p := x.Find(id)
	if p == nil {
		return false
	}
	was := x.was(p)
	return was.updatedAt != 0 && !was.updateDone && x.watches.Moment(t)-was.updatedAt <= event.Moment(UpdateWindow)
}

// Named returns the name of a pod, even if the pod was deleted recently. The result is zero if the pod is unknown.
func (x *Pods) Named(id event.UID) transition.Pod {
	if p, _ := x.Recall(id); p != nil {
		return x.named(p)
	}
	return transition.Pod{}
}
