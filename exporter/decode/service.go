package decode

import "github.com/kubeflap/kubeflap/exporter/event"

func (r *fieldReader) service(data []byte, meta event.Meta) *event.Service {
	service := &event.Service{Meta: meta}
	m := r.message(r.field(data, objectSpec))
	for m.next() {
		switch m.number {
		case 2:
			if service.Selector == nil {
				service.Selector = map[string]string{}
			}
			key, value := r.pair(m.bytes)
			service.Selector[r.text(key)] = r.text(value)
		case 4:
			service.Type = m.text()
		case 13:
			service.PublishNotReady = m.bool()
		}
	}
	return service
}
