package decode

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Fields of NodeSpec and NodeStatus.
const (
	nodeProviderID    = 3
	nodeUnschedulable = 4
	nodeTaints        = 5

	nodeConditions = 4
	nodeInfo       = 7
)

func (r *Reader) node(x encoded) *event.Node {
	spec, info := r.fields(x.spec), r.fields(r.fields(x.status)[nodeInfo])
	node := &event.Node{
		Meta: r.meta(x.meta), Labels: map[string]string{}, DeletionTimestamp: r.time(r.field(x.meta, metaDeletion), time.Second),
		ProviderID: r.text(spec[nodeProviderID]), Unschedulable: boolean(spec[nodeUnschedulable]),
		BootID: r.text(info[3]), KubeletVersion: r.text(info[7]),
	}
	known := event.NodeLabels()
	for entry := range r.list(x.meta, metaLabels).each {
		label := r.fields(entry)
		if slices.ContainsFunc(known, func(l event.NodeLabel) bool { return l.Key == string(label[1]) }) {
			node.Labels[r.text(label[1])] = r.text(label[2])
		}
	}
	for taint := range r.list(x.spec, nodeTaints).each {
		f := r.fields(taint)
		node.Taints = append(node.Taints, event.Taint{
			Key: r.text(f[1]), Value: r.text(f[2]), Effect: r.text(f[3]), Added: r.time(f[4], time.Second),
		})
	}
	for condition := range r.list(x.status, nodeConditions).each {
		r.nodeCondition(condition, node)
	}
	return node
}

func (r *Reader) nodeCondition(data []byte, node *event.Node) {
	f := r.fields(data)
	switch kind := event.LifecycleType(f[1]); {
	case kind == "Ready" && node.Ready == nil:
		node.Ready = r.condition(f)
		node.Ready.LastHeartbeatTime = r.time(f[3], time.Second)
	case kind.Known():
		c := r.condition(f)
		node.Lifecycle = append(node.Lifecycle, event.LifecycleCondition{
			Type: kind, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
		})
	}
}

// condition reads a condition of a node or a pod.
func (r *Reader) condition(f fields) *event.Condition {
	return &event.Condition{
		Status: event.ParseStatus(string(f[2])), LastTransitionTime: r.time(f[4], time.Second),
		Reason: r.text(f[5]), Message: r.text(f[6]),
	}
}
