package truth

import "k8s.io/apimachinery/pkg/types"

// The recorder does not know the causes of lost addresses. It therefore counts only these aggregations over all causes,
// by namespace and service.
const (
	LossesOfAnyCause = "sum(kubeflap_service_address_losses_total)"
	LastLoss         = "max(kubeflap_service_last_loss_timestamp_seconds)"
	LastLossSeries   = "count(kubeflap_service_last_loss_timestamp_seconds)"
)

func (svc *service) losses(c Counts, key types.NamespacedName) {
	labels := []string{"namespace", key.Namespace, "service", key.Name}
	c.set(float64(svc.lost), "kubeflap_service_addresses_lost_total", labels...)
	c.set(float64(svc.lost), LossesOfAnyCause, labels...)
	if !svc.lastLost.IsZero() {
		c.set(float64(svc.lastLost.UnixMicro())/1e6, LastLoss, labels...)
		c.set(1, LastLossSeries, labels...)
	}
}
