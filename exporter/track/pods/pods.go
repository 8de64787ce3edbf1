// Package pods follows the pods of a cluster: their Ready conditions and why
// they change, in-place updates and silent restarts.
package pods

import (
	"bytes"
	"maps"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/queue"
	"github.com/kubeflap/kubeflap/exporter/track/totals"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// nodeFacts are what pods ask of package nodes.
type nodeFacts interface {
	Known(node string) bool
	NotReadyAt(node string, t, by time.Time) bool
	RestartedBefore(node string, t, by time.Time) bool
	CauseOfMark(node string, t time.Time) (why cause.Cause, certain bool)
	Trigger(node string, why cause.Cause) (trigger uint64, ok bool)
	ReadySince(node string) (since time.Time, ok bool)
	UnreadySince(node string) (since time.Time, status event.Status, ok bool)
	Lost(t time.Time) map[string]bool
	CountPods(node string, by int)
}

// Pods are the pods of a cluster.
type Pods struct {
	watches *watches.Watches
	found   *transition.List
	nodes   nodeFacts
	// resolved is called when the cause of a turn is certain, before the pod changes again.
	resolved func(*Turn)

	pods       map[event.UID]*Pod
	namespaces totals.Totals[counts]
	turns      turns
	// departed are pods that were deleted recently.
	departed   map[event.UID]departure
	departures queue.Queue[departed]
	pending    pending
	// stuck are pods that are not Ready though their containers are, and since when.
	stuck map[event.UID]time.Time
	// onLost counts the Ready pods of the nodes that the last question found lost, by namespace.
	onLost map[string]map[string]int
	// short counts the pods with short tolerations.
	short map[short]int
}

// counts are what is counted per namespace.
type counts struct {
	inPlaceUpdates uint64
	// ungatedUpdates are those of pods without a readiness gate.
	ungatedUpdates uint64
	silentRestarts uint64
	// unready counts how often Ready changed from True.
	unready uint64
	// transitions counts changes of Ready, by the new status and the cause.
	transitions [3][cause.Count]uint64
}

// New makes an empty set of pods. resolved is called when the cause of a turn is certain.
func New(watches *watches.Watches, found *transition.List, nodes nodeFacts, resolved func(*Turn)) *Pods {
	return &Pods{
		watches: watches, found: found, nodes: nodes, resolved: resolved,
		pods: map[event.UID]*Pod{}, turns: newTurns(), departed: map[event.UID]departure{},
		pending: pending{}, stuck: map[event.UID]time.Time{}, onLost: map[string]map[string]int{}, short: map[short]int{},
	}
}

// Change is what an event changed of a pod.
type Change struct {
	// Turned: the pod's Ready condition changed. Ready: the condition is now True.
	Turned, Ready bool
	// Updated: an image was changed in place.
	Updated bool
	// Services are the existing Services that hold the pod.
	Services *ServiceList
}

// Apply handles an event of a pod that is not its deletion.
func (x *Pods) Apply(e event.Event, o *event.Pod) Change {
	p := x.pods[o.UID]
	if p == nil {
		x.add(e, o)
		return Change{}
	}
	p.generation = x.watches.Generation(e.Kind)
	x.noteLeaving(p, o, e.Seen)
	ready := readyOf(o)
	// A list shows that an image changed, but not that the pod was running then.
	updated := false
	if e.Type == event.Modified && p.running {
		updated = x.compareContainers(p, e, o, p.ready == event.StatusTrue && ready == event.StatusTrue)
	}
	turned := ready != p.ready
	if turned {
		x.turn(p, e, o)
	}
	x.countOnLost(p, -1)
	x.set(p, o)
	x.noteStuck(o.UID, p, o, e.Seen)
	return Change{Turned: turned, Ready: p.IsReady(), Updated: updated, Services: p.existingServices()}
}

func (x *Pods) add(e event.Event, o *event.Pod) {
	ns := x.namespaces.Of(o.Namespace)
	x.namespaces.Join(ns)
	p := &Pod{namespace: ns, generation: x.watches.Generation(e.Kind), leaving: leavingOf(o), gated: o.Gates > 0}
	x.pods[o.UID] = p
	x.set(p, o)
	p.everReady = p.ready == event.StatusTrue
	x.noteStuck(o.UID, p, o, e.Seen)
}

func (x *Pods) set(p *Pod, o *event.Pod) {
	node, occupied := p.node, p.occupies()
	p.set(o)
	x.noteToleration(p, o)
	x.pending.note(p, o)
	x.countOnLost(p, 1)
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

// Delete handles the deletion of a pod. last is its last state if that was seen. ok is false if there was no such pod.
func (x *Pods) Delete(id event.UID, last *event.Pod) (c Change, ok bool) {
	p := x.pods[id]
	if p == nil {
		return Change{}, false
	}
	if last != nil {
		x.noteLeaving(p, last, x.watches.Now())
	}
	x.resolve(x.turns.of[id])
	delete(x.pods, id)
	delete(x.stuck, id)
	if p.pending {
		x.pending.forget(p, id)
	}
	if p.occupies() {
		x.nodes.CountPods(p.node.Value(), -1)
	}
	x.countOnLost(p, -1)
	x.countShort(p, -1)
	x.depart(id, p)
	x.namespaces.Leave(p.namespace, x.watches.Now())
	return Change{Services: p.existingServices()}, true
}

// Unlisted are the pods that the newest list did not show, in the order of their UIDs.
func (x *Pods) Unlisted() []event.UID {
	var gone []event.UID
	for _, id := range slices.SortedFunc(maps.Keys(x.pods), func(a, b event.UID) int { return bytes.Compare(a[:], b[:]) }) {
		if x.pods[id].generation != x.watches.Generation(event.KindPod) {
			gone = append(gone, id)
		}
	}
	return gone
}

// Find is a pod that exists; nil if there is none.
func (x *Pods) Find(id event.UID) *Pod { return x.pods[id] }

// IsBeingUpdated reports whether an image of the pod was changed in place at most updateWindow before t, and the pod has not been
// Ready with a new container since.
func (x *Pods) IsBeingUpdated(id event.UID, t time.Time) bool {
	p := x.pods[id]
	return p != nil && p.updated != 0 && !p.updateDone && t.Sub(x.watches.Time(p.updated)) <= updateWindow
}

// Named is the name of a pod, also of one that was deleted recently; zero if it was never seen.
func (x *Pods) Named(id event.UID) transition.Pod {
	if p := x.pods[id]; p != nil {
		return p.named()
	}
	if d := x.departed[id]; d.pod != nil {
		return d.pod.named()
	}
	return transition.Pod{}
}

// Namespace is what is counted in a namespace.
type Namespace struct {
	Name           string
	InPlaceUpdates uint64
	// UngatedUpdates are the in-place updates of pods without a readiness gate.
	UngatedUpdates uint64
	SilentRestarts uint64
	// Unready counts how often a pod's Ready changed from True. Transitions counts the changes of Ready whose cause is known, by the
	// new status and by cause.Cause.
	Unready     uint64
	Transitions [3][cause.Count]uint64
}

// Namespaces appends the namespaces that have pods, or had some in the last hour, to the slice into.
func (x *Pods) Namespaces(into []Namespace) []Namespace {
	for _, n := range x.namespaces.Sorted() {
		c := &n.Counts
		into = append(into, Namespace{n.Name, c.inPlaceUpdates, c.ungatedUpdates, c.silentRestarts, c.unready, c.transitions})
	}
	return into
}
