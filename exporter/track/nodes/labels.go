package nodes

import (
	"slices"
	"unique"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// label is a label of a node that says what it shares with others: its zone, its pool and the like. As many nodes have the same ones, they are interned.
type label struct{ key, value unique.Handle[string] }

// noteLabels takes in the labels of a node, and counts the nodes of each.
func (x *Nodes) noteLabels(n *node, o *event.Node) {
	if o.Labels == nil {
		return // an older recording does not have them
	}
	if _, ok := o.Labels["kubernetes.azure.com/agentpool"]; ok {
		x.grace.IsAKS()
		x.tell()
	}
	var labels []label
	for _, l := range event.NodeLabels() {
		if value, ok := o.Labels[l.Key]; ok {
			labels = append(labels, label{unique.Make(l.Key), unique.Make(value)})
		}
	}
	if slices.Equal(labels, n.labels) {
		return
	}
	x.labelled.count(n.labels, -1)
	n.labels = labels
	x.labelled.count(n.labels, 1)
}

// labelCounts counts the nodes of each label.
type labelCounts map[label]int

func (x labelCounts) count(labels []label, by int) {
	for _, l := range labels {
		if x[l] += by; x[l] == 0 {
			delete(x, l)
		}
	}
}

// sharing are the labels of a node, each with the number of nodes that have it.
func (x *heartbeats) sharing(n *node) (all []transition.NodeLabel) {
	for _, l := range n.labels {
		all = append(all, transition.NodeLabel{Key: l.key.Value(), Value: l.value.Value(), Nodes: x.labelled[l]})
	}
	return all
}
