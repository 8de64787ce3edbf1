package pods

import (
	"maps"
	"slices"
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
