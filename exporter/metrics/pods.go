package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

type podMetrics struct {
	inPlaceUpdates, silentRestarts *Metric
}

func newPodMetrics() *podMetrics {
	return &podMetrics{
		inPlaceUpdates: counter("kubeflap_pod_inplace_updates_total",
			"Updates that changed a container's image in a running pod.", perNamespace, "namespace"),
		silentRestarts: counter("kubeflap_pod_silent_restarts_total",
			"Containers that restarted while their pod's Ready stayed True.", perNamespace, "namespace"),
	}
}

func (m *podMetrics) catalogue() Catalogue {
	return Catalogue{m.inPlaceUpdates, m.silentRestarts}
}

func (m *podMetrics) collect(ch chan<- prometheus.Metric, n *flap.Namespace) {
	m.inPlaceUpdates.sample(ch, float64(n.InPlaceUpdates), time.Time{}, n.Name)
	m.silentRestarts.sample(ch, float64(n.SilentRestarts), time.Time{}, n.Name)
}
