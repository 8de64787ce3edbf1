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
			"Updates of the namespace's Services that a consumer which gathers changes for the window would have applied.",
			"each namespace with Services, and for an hour after its last, and window", "namespace", "window"),
		bounces: counter("kubeflap_consumer_bounces_total",
			"Addresses that such a consumer would have put back and taken out again within the bounce window.",
			"each namespace with Services, and for an hour after its last, and window", "namespace", "window"),
	}
	for _, window := range consumers.Windows() {
		m.windows = append(m.windows, fmt.Sprintf("%ds", int(window.Seconds())))
	}
	return m
}

func (m *consumerMetrics) catalogue() Catalogue { return Catalogue{m.updates, m.bounces} }

func (m *consumerMetrics) collect(to *scrape, f *facts) {
	for i := range f.tenants {
		m.collectTenant(to, &f.tenants[i])
	}
}

func (m *consumerMetrics) collectTenant(to *scrape, x *consumers.Namespace) {
	to.about(time.Time{}, "namespace", x.Name)
	for i, label := range m.windows {
		to.sample(m.updates, float64(x.Updates[i]), label)
		to.sample(m.bounces, float64(x.Bounces[i]), label)
	}
}
