package decode

import "github.com/kubeflap/kubeflap/exporter/event"

func (r *Reader) service(data []byte, meta event.Meta) *event.Service {
	slim := &event.Service{Meta: meta}
	m := r.message(r.field(data, spec))
	for m.next() {
		switch m.number {
		case 2:
			if slim.Selector == nil {
				slim.Selector = map[string]string{}
			}
			key, value := r.pair(m.bytes)
			slim.Selector[r.text(key)] = r.text(value)
		case 4:
			slim.Type = m.text()
		case 13:
			slim.PublishNotReady = m.bool()
		}
	}
	return slim
}
