// Package shared counts the nodes that have a label in common, such as the label of their zone or node pool.
package shared

import (
	"slices"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Labels holds a node's labels that other nodes can share. The strings are interned, because many nodes have the same
// values.
type Labels []label

type label struct{ key, value unique.Handle[string] }

// Of returns a node's labels that other nodes can share.
func Of(o *event.Node) (labels Labels) {
	for _, l := range event.NodeLabels() {
		if value, ok := o.Labels[l.Key]; ok {
			labels = append(labels, label{unique.Make(l.Key), unique.Make(value)})
		}
	}
	return labels
}

// Counts holds the number of nodes for each label.
type Counts map[label]int

// Replace updates the counts when a node's labels change from `old` to `labels`. It returns the new labels. For a
// removed node, `labels` is nil.
func (x Counts) Replace(old, labels Labels) Labels {
	if slices.Equal(old, labels) {
		return old
	}
	for _, l := range old {
		if x[l]--; x[l] == 0 {
			delete(x, l)
		}
	}
	for _, l := range labels {
		x[l]++
	}
	return labels
}

// Count returns each of the given labels, with the number of nodes that have the label.
func (x Counts) Count(labels Labels) (all []transition.NodeLabel) {
	for _, l := range labels {
		all = append(all, transition.NodeLabel{Key: l.key.Value(), Value: l.value.Value(), Nodes: x[l]})
	}
	return all
}
