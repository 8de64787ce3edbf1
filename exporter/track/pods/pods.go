// Package pods tracks a cluster's pods. It determines why their Ready conditions change, and counts in-place updates.
// It also counts silent restarts, in which a container restarts while the pod stays Ready.
package pods

import (
	"time"

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
}

// Pods holds a cluster's pods.
type Pods struct {
	*facts
	undecided
	namespaces

	// deleted holds the pods that were deleted recently.
	pods, deleted map[event.UID]*Pod
	// appeared holds the recent appearances of pods, by workload.
	appeared map[event.WorkloadName][]appearance
	// onLost counts the Ready pods on lost nodes, by node and namespace. It contains the nodes that were lost when
	// readyOnLost was last called.
	onLost map[string]map[string]int
}

// New returns an empty tracker of pods. The tracker calls `resolved` when the cause of a readiness loss has been
// determined.
func New(watches *watches.Watches, found *transition.List, nodes *nodes.Nodes, resolved func(*ReadinessLoss)) *Pods {
	f := &facts{watches, found, nodes}
	return &Pods{
		facts: f, undecided: undecided{f, resolved, map[string]map[*ReadinessLoss]bool{}}, namespaces: namespaces{f, map[string]*namespace{}},
		pods: map[event.UID]*Pod{}, deleted: map[event.UID]*Pod{}, appeared: map[event.WorkloadName][]appearance{},
		onLost: map[string]map[string]int{},
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
	Services *ServiceList
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
	return Change{ReadyChanged: changed, Ready: p.IsReady(), Updated: updated, Services: p.services, Labels: o.Labels}
}

func (x *Pods) add(e event.Event, o *event.Pod) (c Change) {
	p := newPod(o, x.join(o.Namespace))
	x.pods[p.ID] = p
	x.set(p, o, e.Seen)
	p.everReady = p.ready == event.StatusTrue
	if !x.watches.First(e) {
		c.Workload = x.appear(p, e.Seen)
	}
	return c
}

func (x *Pods) set(p *Pod, o *event.Pod, t time.Time) {
	node, occupied := p.node, p.occupies()
	x.count(p, -1)
	p.set(o)
	x.count(p, 1)
	x.noteWait(p, o, t)
	if p.node == node && p.occupies() == occupied {
		return
	}
	if occupied {
		x.nodes.CountPods(node.Value(), -1)
	}
	if p.occupies() {
		x.nodes.CountPods(p.node.Value(), 1)
	}
}

// count adds the given number to the Ready pods on a lost node. A scrape reads these counts, so it does not visit all
// pods.
func (x *Pods) count(p *Pod, by int) {
	if !p.IsReady() {
		return
	}
	if namespaces := x.onLost[p.node.Value()]; namespaces != nil {
		namespaces[p.namespace().Name] += by
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
	x.count(p, -1)
	if p.occupies() {
		x.nodes.CountPods(p.node.Value(), -1)
	}
	x.rememberDeleted(p, e)
	x.leave(p, e.Seen)
	return Change{Services: p.services}, true
}

// Known calls a function for each existing pod. The value reports whether the pod has been seen since the last list began.
func (x *Pods) Known(do func(event.Meta, *bool)) {
	for _, p := range x.pods {
		do(event.Meta{UID: p.ID}, &p.seen)
	}
}

// IsBeingUpdated reports whether an in-place update of the pod is in progress at t. The update begins when an image
// changes. It ends when the pod is Ready with a new container, or after UpdateWindow.
func (x *Pods) IsBeingUpdated(id event.UID, t time.Time) bool {
	p := x.Find(id)
	if p == nil {
		return false
	}
	was := p.was()
	return was.updatedAt != 0 && !was.updateDone && t.Sub(x.watches.Time(was.updatedAt)) <= UpdateWindow
}

// Named returns the name of a pod, even if the pod was deleted recently. The result is zero if the pod is unknown.
func (x *Pods) Named(id event.UID) transition.Pod {
	if p, _ := x.Recall(id); p != nil {
		return p.named()
	}
	return transition.Pod{}
}
