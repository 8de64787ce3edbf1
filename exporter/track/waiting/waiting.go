// Package waiting tracks what pods wait for that are not Ready. It answers what keeps an outage of a Service going.
package waiting

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// keepReadyFor is the time for which a pod without a Service is kept after it became Ready. It is longer than the time
	// between two questions about an outage.
	keepReadyFor = 2 * time.Minute
	// crashesFor is the time for which a container that exited and runs again must run to count as running.
	crashesFor = 2 * time.Minute
	// recoverWithin is the longest time that a kubelet needs to restore the readiness of its pods. The kubelet compares its
	// pod statuses with those of the API server every 10 s (see syncBatch in pkg/kubelet/status).
	recoverWithin = 10 * time.Second
	// writtenWithin is the time in which the endpoints controllers write the address of a Ready pod.
	writtenWithin = 10 * time.Second
	// maxWaiting is the number of waiting pods in a namespace up to which kubeflap finds those of a Service.
	maxWaiting = 5000
)

// nodeFacts lists the methods of package nodes that this package calls.
type nodeFacts interface {
	Known(node string) bool
	ReadySince(node string) (since time.Time, ok bool)
}

// Pods holds the pods that are not Ready, and the pods that have just become Ready and belong to no Service. Other pods
// need no such state.
type Pods struct {
	watches *watches.Watches
	nodes   nodeFacts
	// `of` holds the pods by namespace and UID. becameReady holds those that became Ready, in order.
	of          map[string]map[event.UID]*wait
	becameReady []*wait
}

// wait is what a pod waits for.
type wait struct {
	id                    event.UID
	namespace, name, node string
	labels                map[string]string
	// pending is set if the pod is in phase Pending and will stay. Such a pod can lack an IP, and therefore an address (see
	// ShouldPodBeInEndpoints in k8s.io/endpointslice).
	pending bool
	kind    transition.WaitKind
	reason  string
	// `since` is the time since which the kind has been known. `runs` is the time since which a container that exited has
	// been running again, or zero.
	since, runs time.Time
}

// New returns an empty tracker.
func New(watches *watches.Watches, nodes nodeFacts) *Pods {
	return &Pods{watches: watches, nodes: nodes, of: map[string]map[event.UID]*wait{}}
}

// Note stores what a pod waits for. The pod is leaving if the endpoints controllers remove its addresses permanently.
// inService is set if a Service is known to contain the pod.
func (x *Pods) Note(o *event.Pod, leaving, inService bool, t time.Time) {
	kind, reason := waitOf(o, leaving)
	w := x.of[o.Namespace][o.UID]
	if hasEnded(o, leaving) || kind == transition.WaitAddress && (w == nil || inService) {
		x.Forget(o.Namespace, o.UID)
		return
	}
	if w == nil {
		w = &wait{id: o.UID, namespace: strings.Clone(o.Namespace), name: strings.Clone(o.Name)}
		if x.of[w.namespace] == nil {
			x.of[w.namespace] = map[event.UID]*wait{}
		}
		x.of[w.namespace][w.id] = w
	}
	w.node, w.labels, w.pending = o.Node, o.Labels, o.Phase == "Pending" && kind != transition.WaitDeletion
	if w.kind == transition.WaitCrash && kind == transition.WaitProbe {
		if w.runs.IsZero() {
			w.runs = t
		}
		return
	}
	if w.runs = (time.Time{}); w.kind != kind {
		w.kind, w.since = kind, t
		if kind == transition.WaitAddress {
			x.becameReady = append(x.becameReady, w)
		}
	}
	w.reason = reason
}

// Forget drops a pod.
func (x *Pods) Forget(namespace string, id event.UID) {
	some := x.of[namespace]
	if delete(some, id); some != nil && len(some) == 0 {
		delete(x.of, namespace)
	}
}

// ForgetReady drops the pods that became Ready some time ago.
func (x *Pods) ForgetReady(t time.Time) {
	for len(x.becameReady) > 0 {
		w := x.becameReady[0]
		if x.of[w.namespace][w.id] == w && w.kind == transition.WaitAddress {
			if t.Sub(w.since) <= keepReadyFor {
				return
			}
			x.Forget(w.namespace, w.id)
		}
		watches.Take(&x.becameReady)
	}
}

// Pending returns the pods of a namespace in phase Pending that a selector matches, in any order.
func (x *Pods) Pending(namespace string, selects func(labels map[string]string) bool) (ids []event.UID) {
	for id, w := range x.of[namespace] {
		if w.pending && selects(w.labels) {
			ids = append(ids, id)
		}
	}
	return ids
}

// NotRestored counts the pods of each namespace that are not Ready although their nodes, containers and readiness gates are.
func (x *Pods) NotRestored() map[string]int {
	counts := map[string]int{}
	for namespace, some := range x.of {
		for _, w := range some {
			if w.kind == transition.WaitReady {
				if _, known := x.now(w); known {
					counts[namespace]++
				}
			}
		}
	}
	return counts
}

// Question asks what the pods of a Service without a ready address wait for.
type Question struct {
	Namespace string
	Selects   func(labels map[string]string) bool
	// Addresses holds the pods of the addresses that are not ready, and Ready those of them that are Ready.
	Addresses []event.UID
	Ready     []transition.Wait
	// MayHaveLeft is set if a Ready pod has lost its address. It can have left the Service.
	MayHaveLeft bool
	// Last is the previous answer.
	Last transition.Wait
}

// Answer answers a question. It returns the last answer if it cannot know better.
func (x *Pods) Answer(q Question) transition.Wait {
	some := x.of[q.Namespace]
	if !x.watches.Up(event.KindPod) || len(some) > maxWaiting {
		return q.Last
	}
	matched := map[event.UID]*wait{}
	unknown := q.MayHaveLeft
	for id, w := range some {
		unknown = unknown || w.labels == nil
		if q.Selects(w.labels) || slices.Contains(q.Addresses, id) {
			matched[id] = w
		}
	}
	for _, r := range q.Ready {
		if some[r.UID] == nil {
			matched[r.UID] = &wait{id: r.UID, name: r.Pod, node: r.Node, kind: transition.WaitAddress, since: r.Since}
		}
	}
	switch {
	case len(matched) > 0:
		return x.mostOf(matched)
	case unknown:
		return transition.Wait{}
	}
	return transition.Wait{Kind: transition.WaitPod}
}

// now returns what a pod waits for now. known is false if the pod may only need some time, or if it waits for its
// node.
func (x *Pods) now(w *wait) (is transition.Wait, known bool) {
	now := x.watches.Now()
	is = transition.Wait{Kind: w.kind, Pod: w.name, UID: w.id, Node: w.node, Reason: w.reason, Since: w.since}
	if w.kind == transition.WaitCrash && !w.runs.IsZero() && now.Sub(w.runs) > crashesFor {
		container, _, _ := strings.Cut(w.reason, ":")
		is.Kind, is.Since, is.Reason = transition.WaitProbe, w.runs, container
	}
	ready, ok := x.nodes.ReadySince(w.node)
	switch w.kind {
	case "":
	case transition.WaitNode, transition.WaitDeletion:
		known = true
	case transition.WaitReady:
		if ready.After(is.Since) {
			is.Since = ready
		}
		known = ok && now.Sub(is.Since) > recoverWithin
	case transition.WaitAddress:
		known = now.Sub(w.since) > writtenWithin
	default:
		known = ok || !x.nodes.Known(w.node)
	}
	if !known {
		return transition.Wait{}, false
	}
	return is, true
}

// mostOf returns the wait that most pods have in common. A pod that is being deleted counts only if there are no others.
func (x *Pods) mostOf(matched map[event.UID]*wait) (most transition.Wait) {
	var all []transition.Wait
	count, staying := map[transition.WaitKind]int{}, 0
	for _, w := range matched {
		if w.kind != transition.WaitDeletion {
			staying++
		}
		if is, known := x.now(w); known {
			all = append(all, is)
			count[is.Kind]++
		}
	}
	slices.SortFunc(all, func(a, b transition.Wait) int { return cmp.Compare(a.Pod, b.Pod) })
	for _, kind := range transition.Waits() {
		if kind == transition.WaitDeletion && staying > 0 || count[kind] == 0 || most.Kind != "" && count[kind] <= count[most.Kind] {
			continue
		}
		most = all[slices.IndexFunc(all, func(w transition.Wait) bool { return w.Kind == kind })]
	}
	return most
}
