package decode

import "github.com/kubeflap/kubeflap/exporter/event"

func (r *Reader) lease(data []byte, meta event.Meta) *event.Lease {
	slim := &event.Lease{Meta: meta}
	m := r.message(r.field(data, spec))
	for m.next() {
		switch m.number {
		case 2:
			slim.DurationSeconds = m.int32()
		case 4:
			slim.Renew = m.micros()
		}
	}
	return slim
}
