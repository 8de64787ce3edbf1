package decode

import "github.com/kubeflap/kubeflap/exporter/event"

// Fields of LeaseSpec.
const (
	leaseHolder      = 1
	leaseDuration    = 2
	leaseRenew       = 4
	leaseTransitions = 5
)

func (r *fieldReader) lease(data []byte, meta event.Meta) *event.Lease {
	lease := &event.Lease{Meta: meta}
	m := r.message(r.field(data, objectSpec))
	for m.next() {
		switch m.number {
		case leaseDuration:
			lease.DurationSeconds = m.int32()
		case leaseRenew:
			lease.RenewTime = r.metaMicroTime(m.bytes)
		}
	}
	return lease
}

// labelHostname is corev1.LabelHostname. API servers set it on their Lease (see completedConfig.New in
// pkg/controlplane).
const labelHostname = "kubernetes.io/hostname"

func (r *Reader) controlPlaneLease(data, metaData []byte, meta event.Meta) *event.ControlPlaneLease {
	lease := &event.ControlPlaneLease{Meta: meta, Host: r.text(r.entry(metaData, metaLabels, labelHostname))}
	m := r.message(r.field(data, objectSpec))
	for m.next() {
		switch m.number {
		case leaseHolder:
			lease.Holder = m.text()
		case leaseDuration:
			lease.DurationSeconds = m.int32()
		case leaseRenew:
			lease.RenewTime = r.metaMicroTime(m.bytes)
		case leaseTransitions:
			lease.Transitions = m.int32()
		}
	}
	return lease
}
