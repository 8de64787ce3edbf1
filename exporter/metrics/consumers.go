package metrics

import (
	"fmt"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// consumerRows returns the metrics of clients that batch endpoint updates.
func consumerRows() []row {
	namespace := kind[services.Namespace]{"windows", func(now *snapshot) []services.Namespace { return now.consumers }, func(to *Scrape, x *services.Namespace) {
		to.startObject(time.Time{}, x.Name)
	}}
	service := kind[services.StaleReadds]{"readds", func(now *snapshot) []services.StaleReadds { return now.readds }, func(to *Scrape, x *services.StaleReadds) {
		to.startObject(time.Time{}, x.Namespace, x.Name)
	}}
	var windows []string // the values of the label "window"
	for _, window := range transition.Windows() {
		windows = append(windows, fmt.Sprintf("%ds", int(window.Seconds())))
	}
	return []row{
		namespace.row(counter("kubeflap_consumer_updates_total",
			"Number of times a client with this batching window would have updated the addresses of a Service in the namespace.",
			perNamespace, "namespace", "window"), func(to *Scrape, x *services.Namespace) {
			for i, window := range windows {
				to.sample(float64(x.Updates[i]), window)
			}
		}),
		namespace.row(counter("kubeflap_consumer_bounces_total",
			"Addresses that a client with this batching window would have put back into rotation and then removed again within the bounce window.",
			perNamespace, "namespace", "window"), func(to *Scrape, x *services.Namespace) {
			for i, window := range windows {
				to.sample(float64(x.Bounces[i]), window)
			}
		}),
		service.row(counter("kubeflap_service_stale_readds_total",
			"Addresses that a client with this batching window would have put back into rotation although the container was being replaced or already gone. Counted at most once per in-place image change, and only until the pod is Ready with the new container (at most 2 minutes). Assumes that the program that performs the update has removed the address from the load balancer.",
			"one per window and Service, after the first occurrence", "namespace", "service", "window"), func(to *Scrape, x *services.StaleReadds) {
			for i, window := range windows {
				to.sampleIf(x.ByWindow[i] > 0, float64(x.ByWindow[i]), window)
			}
		}),
	}
}
