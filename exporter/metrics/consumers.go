package metrics

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/consumers"
)

type consumerMetrics struct {
	updates, bounces, readds *Metric
	// windows holds the values of the label "window".
	windows []string
}

func newConsumerMetrics() *consumerMetrics {
	m := &consumerMetrics{
		updates: counter("kubeflap_consumer_updates_total",
			"Number of times a client with this batching window would have updated the addresses of a Service in the namespace.",
			perNamespace, "namespace", "window"),
		bounces: counter("kubeflap_consumer_bounces_total",
			"Addresses that a client with this batching window would have put back into rotation and then removed again within the bounce window.",
			perNamespace, "namespace", "window"),
	}
	m.readds = counter("kubeflap_service_stale_readds_total",
		"Addresses that a client with this batching window would have put back into rotation although the container was being replaced or already gone. Counted at most once per in-place image change, and only until the pod is Ready with the new container (at most 2 minutes). Assumes that the program that performs the update has removed the address from the load balancer.",
		"one per window and Service, after the first occurrence", "namespace", "service", "window")
	for _, window := range consumers.Windows() {
		m.windows = append(m.windows, fmt.Sprintf("%ds", int(window.Seconds())))
	}
	return m
}

func (m *consumerMetrics) catalogue() Catalogue { return Catalogue{m.updates, m.bounces, m.readds} }

func (m *consumerMetrics) collect(to *scrape, now *snapshot) {
	for i := range now.consumers {
		m.collectNamespace(to, &now.consumers[i])
	}
	for i := range now.readds {
		m.collectReadds(to, &now.readds[i])
	}
}

func (m *consumerMetrics) collectNamespace(to *scrape, x *consumers.Namespace) {
	to.startObject(time.Time{}, "namespace", x.Name)
	for i, label := range m.windows {
		to.sample(m.updates, float64(x.Updates[i]), label)
		to.sample(m.bounces, float64(x.Bounces[i]), label)
	}
}

func (m *consumerMetrics) collectReadds(to *scrape, x *consumers.StaleReadds) {
	to.startObject(time.Time{}, "namespace", x.Namespace, "service", x.Name)
	for i, label := range m.windows {
		if x.ByWindow[i] > 0 {
			to.sample(m.readds, float64(x.ByWindow[i]), label)
		}
	}
}
