package decode

import "github.com/kubeflap/kubeflap/exporter/event"

func (r *Reader) node(data []byte, meta event.Meta) *event.Node {
	slim := &event.Node{Meta: meta}
	m := r.message(data)
	for m.next() {
		switch m.number {
		case spec:
			r.nodeSpec(m.bytes, slim)
		case status:
			r.nodeStatus(m.bytes, slim)
		}
	}
	return slim
}

func (r *Reader) nodeSpec(data []byte, slim *event.Node) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 4:
			slim.Unschedulable = m.bool()
		case 5:
			slim.Taints = append(slim.Taints, r.taint(m.bytes))
		}
	}
}

func (r *Reader) taint(data []byte) event.Taint {
	var slim event.Taint
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 1:
			slim.Key = m.text()
		case 3:
			slim.Effect = m.text()
		}
	}
	return slim
}

func (r *Reader) nodeStatus(data []byte, slim *event.Node) {
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 4:
			if slim.Ready == nil && string(r.field(m.bytes, 1)) == "Ready" {
				slim.Ready = r.nodeCondition(m.bytes)
			}
		case 7:
			slim.BootID = r.text(r.field(m.bytes, 3))
			slim.KubeletVersion = r.text(r.field(m.bytes, 7))
		}
	}
}

func (r *Reader) nodeCondition(data []byte) *event.Condition {
	slim := &event.Condition{}
	m := r.message(data)
	for m.next() {
		switch m.number {
		case 2:
			slim.Status = statusOf(m.bytes)
		case 3:
			slim.Heartbeat = m.seconds()
		case 4:
			slim.Transition = m.seconds()
		case 5:
			slim.Reason = m.text()
		case 6:
			slim.Message = m.text()
		}
	}
	return slim
}
