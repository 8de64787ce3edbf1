package nodes

import (
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

// countLabels returns the node's labels, each with the number of nodes that have it.
func (x *health) countLabels(n *node) (all []transition.NodeLabel) {
	if x.labelled == nil {
		x.labelled = map[label]int{}
		for _, other := range x.nodes {
			for _, l := range other.labels {
				x.labelled[l]++
			}
		}
	}
	for _, l := range n.labels {
		all = append(all, transition.NodeLabel{Key: l.key.Value(), Value: l.value.Value(), Nodes: x.labelled[l]})
	}
	return all
}
