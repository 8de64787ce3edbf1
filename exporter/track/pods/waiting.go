package pods

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	// keepReadyFor is the time for which a pod is kept after it became Ready. It is longer than the time between two questions
	// about an outage.
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

// wait is what a pod waits for. Only the pods that are not Ready have one, and those that have just become Ready.
type wait struct {
	pod    *Pod
	labels map[string]string
	// pending is set if the pod is in phase Pending and will stay. Such a pod can lack an IP, and therefore an address (see
	// ShouldPodBeInEndpoints in k8s.io/endpointslice).
	pending bool
	kind    transition.WaitKind
	reason  string
	// `since` is the time since which the kind has been known. `runs` is the time since which a container that exited has
	// been running again, or zero.
	since, runs time.Time
}

// noteWait stores what a pod waits for. A pod with a RemovalCause is leaving: the endpoints controllers remove its addresses
// permanently.
func (x *namespaces) noteWait(p *Pod, o *event.Pod, t time.Time) {
	leaving, waiting := p.RemovalCause != cause.Unknown, x.of(p).namespace.waiting
	kind, reason := waitOf(o, leaving)
	w := waiting[p.ID]
	if hasEnded(o, leaving) || kind == transition.WaitAddress && w == nil {
		delete(waiting, p.ID)
		return
	}
	if w == nil {
		w = &wait{pod: p}
		waiting[p.ID] = w
	}
	w.labels, w.pending = o.Labels, o.Phase == "Pending" && kind != transition.WaitDeletion
	if w.kind == transition.WaitCrash && kind == transition.WaitProbe {
		if w.runs.IsZero() {
			w.runs = t
		}
		return
	}
	if w.runs = (time.Time{}); w.kind != kind {
		w.kind, w.since = kind, t
		if kind == transition.WaitAddress {
			x.watches.Schedule(t.Add(keepReadyFor), watches.RankForget, func() {
				if waiting[p.ID] == w && w.kind == transition.WaitAddress && w.since.Equal(t) {
					delete(waiting, p.ID)
				}
			})
		}
	}
	w.reason = reason
}

// waitingIn returns what the pods of a namespace wait for.
func (x *namespaces) waitingIn(name string) map[event.UID]*wait {
	if n := x.byName[name]; n != nil {
		return n.waiting
	}
	return nil
}

// Pending returns the pods of a namespace in phase Pending that a selector matches, in any order.
func (x *namespaces) Pending(namespace string, by Selector) (ids []event.UID) {
	for id, w := range x.waitingIn(namespace) {
		if w.pending && by.selects(w.labels) {
			ids = append(ids, id)
		}
	}
	return ids
}

// notRestored counts the pods of a namespace that are not Ready although their nodes, containers and readiness gates are.
func (x *namespaces) notRestored(namespace string) (count int) {
	for _, w := range x.waitingIn(namespace) {
		if w.kind == transition.WaitReady {
			if _, known := x.now(w); known {
				count++
			}
		}
	}
	return count
}

// WaitOf returns what the pods of a Service without a ready address wait for. The Service has some addresses that are not
// ready. Its last ready addresses were those of the pods `lost`. WaitOf returns the previous result `last` if it cannot know
// better.
func (x *Pods) WaitOf(namespace string, by Selector, addresses, lost []event.UID, last transition.Wait) transition.Wait {
	some := x.waitingIn(namespace)
	if !x.watches.Up(event.KindPod) || len(some) > maxWaiting {
		return last
	}
	if last.Kind == transition.WaitAddress && !slices.Contains(addresses, last.UID) {
		addresses = append(addresses, last.UID)
	}
	var matched []*wait
	unknown := slices.ContainsFunc(lost, x.isReady) // a Ready pod without its address can have left the Service
	for id, w := range some {
		unknown = unknown || w.labels == nil
		if by.selects(w.labels) || slices.Contains(addresses, id) {
			matched = append(matched, w)
		}
	}
	for _, id := range addresses {
		if some[id] == nil && x.isReady(id) {
			p := x.Find(id)
			matched = append(matched, &wait{pod: p, kind: transition.WaitAddress, since: x.watches.Time(p.ReadyChangedAt)})
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

// isReady reports whether a pod is Ready and will stay.
func (x *Pods) isReady(id event.UID) bool {
	p := x.Find(id)
	return p != nil && p.IsReady() && p.RemovalCause == cause.Unknown
}

// now returns what a pod waits for now. known is false if the pod may only need some time, or if it waits for its
// node.
func (x *namespaces) now(w *wait) (is transition.Wait, known bool) {
	now := x.watches.Now()
	node := x.Node(w.pod)
	is = transition.Wait{Kind: w.kind, Pod: x.name(w.pod), UID: w.pod.ID, Node: node, Reason: w.reason, Since: w.since}
	if w.kind == transition.WaitCrash && !w.runs.IsZero() && now.Sub(w.runs) > crashesFor {
		container, _, _ := strings.Cut(w.reason, ":")
		is.Kind, is.Since, is.Reason = transition.WaitProbe, w.runs, container
	}
	status, since, exists := x.nodes.Status(node)
	isReady := exists && status == event.StatusTrue
	switch w.kind {
	case "":
	case transition.WaitNode, transition.WaitDeletion:
		known = true
	case transition.WaitReady:
		if since.After(is.Since) {
			is.Since = since
		}
		known = isReady && now.Sub(is.Since) > recoverWithin
	case transition.WaitAddress:
		known = now.Sub(w.since) > writtenWithin
	default:
		known = isReady || !x.nodes.Known(node)
	}
	if !known {
		return transition.Wait{}, false
	}
	return is, true
}

// mostOf returns the wait that most pods have in common. A pod that is being deleted counts only if there are no others.
func (x *namespaces) mostOf(matched []*wait) (most transition.Wait) {
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
