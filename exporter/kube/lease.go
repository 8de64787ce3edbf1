package kube

import (
	coordinationv1 "k8s.io/api/coordination/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func slimLease(lease *coordinationv1.Lease) *event.Lease {
	slim := &event.Lease{Meta: slimMeta(&lease.ObjectMeta)}
	if renew := lease.Spec.RenewTime; renew != nil {
		slim.Renew = renew.Time.UTC()
	}
	if seconds := lease.Spec.LeaseDurationSeconds; seconds != nil {
		slim.DurationSeconds = *seconds
	}
	return slim
}
