package metrics

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/consumers"
)

type consumerMetrics struct {
	updates, bounces *Metric
	// windows are the values of the label window.
	windows []string
}

func newConsumerMetrics() *consumerMetrics {
	m := &consumerMetrics{
		updates: counter("kubeflap_consumer_updates_total",
			"Updates of the namespace's Services that a client which batches changes for the window would have applied.",
			perNamespace, "namespace", "window"),
		bounces: counter("kubeflap_consumer_bounces_total",
			"Addresses that a client which batches changes for the window would have added back and removed again within the bounce window.",
			perNamespace, "namespace", "window"),
	}
	for _, window := range consumers.Windows() {
		m.windows = append(m.windows, fmt.Sprintf("%ds", int(window.Seconds())))
	}
	return m
}

func (m *consumerMetrics) catalogue() Catalogue { return Catalogue{m.updates, m.bounces} }

func (m *consumerMetrics) collect(to *scrape, now *snapshot) {
	for i := range now.consumers {
		m.collectNamespace(to, &now.consumers[i])
	}
}

func (m *consumerMetrics) collectNamespace(to *scrape, x *consumers.Namespace) {
	to.startObject(time.Time{}, "namespace", x.Name)
	for i, label := range m.windows {
		to.sample(m.updates, float64(x.Updates[i]), label)
		to.sample(m.bounces, float64(x.Bounces[i]), label)
	}
}
