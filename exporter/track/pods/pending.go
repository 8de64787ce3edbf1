package pods

import (
	"maps"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

type label struct{ name, value string }

// Selector is the pod selector of a Service. An empty Selector selects no pods.
type Selector []label

// NewSelector converts a Service's spec.selector.
func NewSelector(of map[string]string) Selector {
	s := make(Selector, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		s = append(s, label{name, of[name]})
	}
	return s
}

// selects reports whether the selector matches a pod's labels.
func (s Selector) selects(labels map[string]string) bool {
	for _, is := range s {
		if value, ok := labels[is.name]; !ok || value != is.value {
			return false
		}
	}
	return len(s) > 0
}

// SelectsAll reports whether the selector matches all pods that have the labels in another selector.
func (s Selector) SelectsAll(labels Selector) bool {
	for _, is := range s {
		if !slices.Contains(labels, is) {
			return false
		}
	}
	return len(s) > 0
}

// pending is a map of the labels of the pods in phase Pending, by namespace. It excludes pods that are being
// deleted or evicted. A Pending pod can lack an IP, and therefore an address (see ShouldPodBeInEndpoints in
// k8s.io/endpointslice).
type pending map[string]map[*Pod]map[string]string

func (x pending) note(p *Pod, o *event.Pod) {
	if o.Phase != "Pending" || p.RemovalCause != cause.Unknown {
		x.forget(p)
		return
	}
	some := x[p.namespace.Name]
	if some == nil {
		some = map[*Pod]map[string]string{}
		x[p.namespace.Name] = some
	}
	some[p] = o.Labels
}

func (x pending) forget(p *Pod) {
	some := x[p.namespace.Name]
	if delete(some, p); len(some) == 0 {
		delete(x, p.namespace.Name)
	}
}

// CountPending returns the number of pods in phase Pending that the selector matches.
func (x *Pods) CountPending(namespace string, by Selector) int {
	n := 0
	for _, labels := range x.pending[namespace] {
		if by.selects(labels) {
			n++
		}
	}
	return n
}
