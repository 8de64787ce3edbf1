package decode

import "github.com/kubeflap/kubeflap/exporter/event"

func (r *Reader) lease(data []byte, meta event.Meta) *event.Lease {
	lease := &event.Lease{Meta: meta}
	m := r.message(r.field(data, objectSpec))
	for m.next() {
		switch m.number {
		case 2:
			lease.DurationSeconds = m.int32()
		case 4:
			lease.Renew = r.micros(m.bytes)
		}
	}
	return lease
}
