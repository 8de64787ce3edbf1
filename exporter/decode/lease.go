package decode

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// Fields of LeaseSpec.
const (
	leaseHolder      = 1
	leaseDuration    = 2
	leaseRenew       = 4
	leaseTransitions = 5
)

func (r *Reader) lease(x encoded) *event.Lease {
	spec := r.fields(x.spec)
	return &event.Lease{
		Meta: r.meta(x.meta), DurationSeconds: int32(integer(spec[leaseDuration])), RenewTime: r.time(spec[leaseRenew], time.Microsecond),
	}
}

// labelHostname is corev1.LabelHostname. API servers set it on their Lease (see completedConfig.New in
// pkg/controlplane).
const labelHostname = "kubernetes.io/hostname"

func (r *Reader) controlPlaneLease(x encoded) *event.ControlPlaneLease {
	lease, spec := r.lease(x), r.fields(x.spec)
	return &event.ControlPlaneLease{
		Meta: lease.Meta, DurationSeconds: lease.DurationSeconds, RenewTime: lease.RenewTime,
		Holder: r.text(spec[leaseHolder]), Transitions: int32(integer(spec[leaseTransitions])),
		Host: r.text(r.entry(r.list(x.meta, metaLabels), labelHostname)),
	}
}
