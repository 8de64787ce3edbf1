package nodes

import (
	"slices"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// label is a label that nodes can share, such as the label of their zone or node pool. The strings are interned, because
// many nodes have the same values.
type label struct{ key, value unique.Handle[string] }

// labelsOf returns a node's labels that other nodes can share.
func labelsOf(o *event.Node) (labels []label) {
	for _, l := range event.NodeLabels() {
		if value, ok := o.Labels[l.Key]; ok {
			labels = append(labels, label{unique.Make(l.Key), unique.Make(value)})
		}
	}
	return labels
}

// labelCounts holds the number of nodes for each label.
type labelCounts map[label]int

// replace updates the counts when a node's labels change from `old` to `labels`. It returns the new labels. For a
// removed node, `labels` is nil.
func (x labelCounts) replace(old, labels []label) []label {
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

// count returns each of the given labels, with the number of nodes that have the label.
func (x labelCounts) count(labels []label) (all []transition.NodeLabel) {
	for _, l := range labels {
		all = append(all, transition.NodeLabel{Key: l.key.Value(), Value: l.value.Value(), Nodes: x[l]})
	}
	return all
}
