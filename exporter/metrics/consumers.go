package metrics

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

type consumerMetrics struct {
	updates, bounces *Metric
}

func newConsumerMetrics() *consumerMetrics {
	return &consumerMetrics{
		updates: counter("kubeflap_consumer_updates_total",
			"Updates of the namespace's Services that a consumer which gathers changes for the window would have applied.",
			"each namespace with Services, and window", "namespace", "window"),
		bounces: counter("kubeflap_consumer_bounces_total",
			"Addresses that such a consumer would have put back and taken out again within the bounce window.",
			"each namespace with Services, and window", "namespace", "window"),
	}
}

func (m *consumerMetrics) catalogue() Catalogue { return Catalogue{m.updates, m.bounces} }

func (m *consumerMetrics) collect(to *scrape, x *flap.Tenant) {
	for i, window := range flap.Windows() {
		label := fmt.Sprintf("%ds", int(window.Seconds()))
		to.sample(m.updates, float64(x.Updates[i]), time.Time{}, x.Namespace, label)
		to.sample(m.bounces, float64(x.Bounces[i]), time.Time{}, x.Namespace, label)
	}
}
