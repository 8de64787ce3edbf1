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
	// keepReadyFor is the time for which a pod without a Service is kept in `waiting` after it became Ready. It is longer
	// than the time between two questions about an outage.
	keepReadyFor = 2 * time.Minute
	// crashesFor is the time for which a container that exited and runs again must run to count as running.
	crashesFor = 2 * time.Minute
	// writtenWithin is the time in which the endpoints controllers write the address of a Ready pod.
	writtenWithin = 10 * time.Second
	// maxWaiting is the number of waiting pods in a namespace up to which kubeflap finds those of a Service.
	maxWaiting = 5000
)

// waiting holds the pods that are not Ready, by namespace, and the pods that have just become Ready and belong to no Service.
// Other pods need no such state.
type waiting map[*Total[Counts]]map[*Pod]*wait

// wait is what a pod waits for.
type wait struct {
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

// noteWait stores what a pod waits for.
func (x *Pods) noteWait(p *Pod, o *event.Pod, t time.Time) {
	kind, reason := waitOf(p, o)
	w := x.waiting[p.namespace][p]
	if hasEnded(p, o) || kind == transition.WaitAddress && (w == nil || p.services != nil) {
		x.forgetWait(p)
		return
	}
	if w == nil {
		w = &wait{}
		if x.waiting[p.namespace] == nil {
			x.waiting[p.namespace] = map[*Pod]*wait{}
		}
		x.waiting[p.namespace][p] = w
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
			x.becameReady = append(x.becameReady, p)
		}
	}
	if w.reason != reason {
		w.reason = reason
	}
}

func (x *Pods) forgetWait(p *Pod) {
	some := x.waiting[p.namespace]
	if delete(some, p); len(some) == 0 {
		delete(x.waiting, p.namespace)
	}
}

// forgetReady forgets the pods that became Ready some time ago.
func (x *Pods) forgetReady(t time.Time) {
	for len(x.becameReady) > 0 {
		p := x.becameReady[0]
		w := x.waiting[p.namespace][p]
		if w != nil && w.kind == transition.WaitAddress {
			if t.Sub(w.since) <= keepReadyFor {
				return
			}
			x.forgetWait(p)
		}
		watches.Take(&x.becameReady)
	}
}

// CountPending returns the number of pods in phase Pending that the selector matches.
func (x *Pods) CountPending(ns string, by Selector) int {
	n := 0
	for _, w := range x.waitingIn(ns) {
		if w.pending && by.selects(w.labels) {
			n++
		}
	}
	return n
}

func (x *Pods) waitingIn(ns string) map[*Pod]*wait { return x.waiting[x.namespaces[ns]] }

// WaitOf returns what the pods of a Service wait for, which has no ready address since a given time. The Service has some
// addresses that are not ready. Its last addresses were those of the pods `lost`, and `last` is the previous result.
func (x *Pods) WaitOf(ns string, by Selector, addresses, lost []event.UID, last transition.Wait) transition.Wait {
	some := x.waitingIn(ns)
	if !x.watches.Up(event.KindPod) || len(some) > maxWaiting {
		return last
	}
	matched := map[*Pod]*wait{}
	unknown := false
	for p, w := range some {
		unknown = unknown || w.labels == nil
		if by.selects(w.labels) {
			matched[p] = w
		}
	}
	if last.Kind == transition.WaitAddress {
		addresses = append(addresses, last.UID)
	}
	for _, id := range addresses {
		if p := x.Find(id); p != nil && some[p] != nil {
			matched[p] = some[p]
		} else if p != nil && p.IsReady() {
			matched[p] = &wait{kind: transition.WaitAddress, since: x.watches.Time(p.ReadyChangedAt)}
		}
	}
	for _, id := range lost {
		p := x.Find(id)
		unknown = unknown || p != nil && p.IsReady() && p.RemovalCause == cause.Unknown // it may have left the Service
	}
	switch {
	case len(matched) > 0:
		return x.mostOf(matched)
	case unknown:
		return transition.Wait{}
	}
	return transition.Wait{Kind: transition.WaitPod}
}

// waitNow returns what a pod waits for now. known is false if the pod may only need some time, or if it waits for its
// node.
func (x *Pods) waitNow(p *Pod, w *wait) (is transition.Wait, known bool) {
	now, named := x.watches.Now(), p.named()
	is = transition.Wait{Kind: w.kind, Pod: named.Name, UID: p.ID, Node: named.Node, Reason: w.reason, Since: w.since}
	if w.kind == transition.WaitCrash && !w.runs.IsZero() && now.Sub(w.runs) > crashesFor {
		container, _, _ := strings.Cut(w.reason, ":")
		is.Kind, is.Since, is.Reason = transition.WaitProbe, w.runs, container
	}
	ready, ok := x.nodes.ReadySince(named.Node)
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
		known = ok || !x.nodes.Known(named.Node)
	}
	if !known {
		return transition.Wait{}, false
	}
	return is, true
}

// mostOf returns the wait that most pods have in common. A pod that is being deleted counts only if there are no others.
func (x *Pods) mostOf(matched map[*Pod]*wait) (most transition.Wait) {
	var all []transition.Wait
	count, staying := map[transition.WaitKind]int{}, 0
	for p, w := range matched {
		if w.kind != transition.WaitDeletion {
			staying++
		}
		if is, known := x.waitNow(p, w); known {
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
