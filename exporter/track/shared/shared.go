// Package shared has what nodes share: their zone, their pool and the like, by their labels.
package shared

import (
	"slices"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Labels are those labels of a node that say what it shares with others. As many nodes have the same ones, they are interned.
type Labels []label

type label struct{ key, value unique.Handle[string] }

// Of are the labels of a node.
func Of(o *event.Node) (labels Labels) {
	for _, l := range event.NodeLabels() {
		if value, ok := o.Labels[l.Key]; ok {
			labels = append(labels, label{unique.Make(l.Key), unique.Make(value)})
		}
	}
	return labels
}

// Counts counts the nodes of each label.
type Counts map[label]int

// Replace counts a node under its new labels instead of its old ones, and returns the new ones. A node that is gone has no labels.
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

// Count are labels, each with the number of nodes that have it.
func (x Counts) Count(labels Labels) (all []transition.NodeLabel) {
	for _, l := range labels {
		all = append(all, transition.NodeLabel{Key: l.key.Value(), Value: l.value.Value(), Nodes: x[l]})
	}
	return all
}
