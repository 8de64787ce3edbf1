package decode

import "github.com/kubeflap/kubeflap/exporter/event"

func (r *Reader) node(data []byte, meta event.Meta) *event.Node {
	node := &event.Node{Meta: meta}
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

func (r *Reader) nodeSpec(data []byte, node *event.Node) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 4:
			node.Unschedulable = m.bool()
		case 5:
			var key, effect []byte
			r.take(m.bytes, into{1, &key}, into{3, &effect})
			node.Taints = append(node.Taints, event.Taint{Key: r.text(key), Effect: r.text(effect)})
		}
	}
}

func (r *Reader) nodeStatus(data []byte, node *event.Node) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 4:
			if node.Ready == nil && string(r.field(m.bytes, 1)) == "Ready" {
				node.Ready = r.nodeCondition(m.bytes)
			}
		case 7:
			node.BootID = r.text(r.field(m.bytes, 3))
			node.KubeletVersion = r.text(r.field(m.bytes, 7))
		}
	}
}

func (r *Reader) nodeCondition(data []byte) *event.Condition {
	var status, heartbeat, transition, reason, message []byte
	r.take(data, into{2, &status}, into{3, &heartbeat}, into{4, &transition}, into{5, &reason}, into{6, &message})
	return &event.Condition{
		Status: event.ParseStatus(string(status)), Reason: r.text(reason), Message: r.text(message),
		Heartbeat: r.seconds(heartbeat), Transition: r.seconds(transition),
	}
}
