package decode

import (
	"slices"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Fields of NodeSpec.
const (
	nodeProviderID    = 3
	nodeUnschedulable = 4
	nodeTaints        = 5
)

// Fields of NodeStatus.
const (
	nodeConditions = 4
	nodeInfo       = 7
)

func (r *Reader) node(data, metaData []byte, meta event.Meta) *event.Node {
	node := &event.Node{Meta: meta, Labels: map[string]string{}}
	r.nodeMeta(metaData, node)
	m := r.message(data)
	for m.next() {
		switch m.number {
		case objectSpec:
			r.nodeSpec(m.bytes, node)
		case objectStatus:
			r.nodeStatus(m.bytes, node)
		}
	}
	return node
}

func (r *Reader) nodeMeta(data []byte, node *event.Node) {
	known := event.NodeLabels()
	m := r.message(data)
	for m.next() {
		switch m.number {
		case metaDeletion:
			node.DeletionTimestamp = m.metaTime()
		case metaLabels:
			key, value := r.pair(m.bytes)
			if slices.ContainsFunc(known, func(l event.NodeLabel) bool { return l.Key == string(key) }) {
				node.Labels[r.text(key)] = r.text(value)
			}
		}
	}
}

func (r *Reader) nodeSpec(data []byte, node *event.Node) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case nodeProviderID:
			node.ProviderID = m.text()
		case nodeUnschedulable:
			node.Unschedulable = m.bool()
		case nodeTaints:
			node.Taints = append(node.Taints, r.taint(m.bytes))
		}
	}
}

func (r *Reader) taint(data []byte) event.Taint {
	var key, value, effect, added []byte
	r.readFields(data, fieldTarget{1, &key}, fieldTarget{2, &value}, fieldTarget{3, &effect}, fieldTarget{4, &added})
	return event.Taint{Key: r.text(key), Value: r.text(value), Effect: r.text(effect), Added: r.metaTime(added)}
}

func (r *Reader) nodeStatus(data []byte, node *event.Node) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case nodeConditions:
			r.nodeCondition(m.bytes, node)
		case nodeInfo:
			node.BootID = r.text(r.field(m.bytes, 3))
			node.KubeletVersion = r.text(r.field(m.bytes, 7))
		}
	}
}

func (r *Reader) nodeCondition(data []byte, node *event.Node) {
	kind := string(r.field(data, 1))
	isReady, lifecycle := kind == "Ready" && node.Ready == nil, event.LifecycleType(kind)
	if !isReady && !lifecycle.Known() {
		return
	}
	var status, heartbeat, transition, reason, message []byte
	r.readFields(data, fieldTarget{2, &status}, fieldTarget{3, &heartbeat}, fieldTarget{4, &transition}, fieldTarget{5, &reason}, fieldTarget{6, &message})
	c := event.Condition{
		Status: event.ParseStatus(string(status)), Reason: r.text(reason), Message: r.text(message),
		LastHeartbeatTime: r.metaTime(heartbeat), LastTransitionTime: r.metaTime(transition),
	}
	if isReady {
		node.Ready = &c
		return
	}
	node.Lifecycle = append(node.Lifecycle, event.LifecycleCondition{
		Type: lifecycle, Status: c.Status, Reason: c.Reason, LastTransitionTime: c.LastTransitionTime,
	})
}
