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

// Mismatch describes the first of the selector's labels that a pod does not have. It returns nothing if the selector is
// empty or matches the pod's labels.
func (s Selector) Mismatch(labels map[string]string) string {
	for _, is := range s {
		switch value, ok := labels[is.name]; {
		case !ok:
			return "label " + is.name + " is missing, the selector is " + is.name + "=" + is.value
		case value != is.value:
			return "label " + is.name + "=" + value + ", the selector is " + is.name + "=" + is.value
		}
	}
	return ""
}

// selects reports whether the selector matches a pod's labels.
func (s Selector) selects(labels map[string]string) bool {
	return len(s) > 0 && s.Mismatch(labels) == ""
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
