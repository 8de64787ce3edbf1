package metrics

import (
	"strconv"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track/services"
)

func propagationBuckets() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

func eachService() kind[services.Service] {
	return kind[services.Service]{"service", func(now *snapshot) []services.Service { return now.services }, func(to *Scrape, x *services.Service) {
		to.startObject(x.Created, x.Namespace, x.Name)
	}}
}

// addressRows returns the metrics of addresses.
func addressRows() []row {
	service := eachService()
	return []row{
		service.row(gauge("kubeflap_service_addresses",
			"Distinct addresses of the Service, by state: ready, not_ready, terminating.", perService, "namespace", "service", "state"), func(to *Scrape, x *services.Service) {
			to.sample(float64(x.Ready), "ready")
			to.sample(float64(x.NotReady), "not_ready")
			to.sample(float64(x.Terminating), "terminating")
		}),
		service.row(counter("kubeflap_service_address_flips_total",
			"Readiness changes of addresses that stayed in the Service, by new state (ready or not_ready).", perService, "namespace", "service", "to"), func(to *Scrape, x *services.Service) {
			to.sample(float64(x.TurnedReady), "ready")
			to.sample(float64(x.TurnedNotReady), "not_ready")
		}),
		service.row(counter("kubeflap_service_address_churn_total",
			"Addresses added to or removed from the Service. An address that becomes terminating counts as removed.", perService, "namespace", "service", "change"), func(to *Scrape, x *services.Service) {
			to.sample(float64(x.Added), "added")
			to.sample(float64(x.Removed), "removed")
		}),
		service.row(counter("kubeflap_service_address_bounces_total",
			"Lost addresses that became ready again within the bounce window (--bounce-window, 2 minutes by default).", perService, "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sample(float64(x.Bounces)) }),
		service.row(counter("kubeflap_service_addresses_lost_total",
			"Ready addresses of the Service that became not ready or were removed. Counted immediately, before the cause is known.", perService, "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sample(float64(x.Lost)) }),
		service.row(counter("kubeflap_service_address_losses_total",
			"Ready addresses of the Service that became not ready or were removed, by cause.", "one per Service and cause, after the first occurrence", "namespace", "service", "cause"), func(to *Scrape, x *services.Service) {
			if x.LastLoss.IsZero() {
				return
			}
			for why, n := range x.Losses {
				if n > 0 {
					to.sample(float64(n), cause.Cause(why).String())
				}
			}
		}),
		service.row(gauge("kubeflap_service_last_loss_timestamp_seconds",
			"Unix time at which the Service last lost a ready address. The cause label shows the cause of this loss. The removal of a foreign address (see kubeflap_service_foreign_addresses) does not count while the Service has other addresses.", "one per Service that has lost a ready address", "namespace", "service", "cause"), func(to *Scrape, x *services.Service) {
			if !x.LastLoss.IsZero() {
				to.sample(seconds(x.LastLoss), x.LastCause.String())
			}
		}),
	}
}

// outageRows returns the metrics of outages.
func (c *Collector) outageRows() []row {
	service := eachService()
	c.outages = observed(histogram("kubeflap_service_outage_duration_seconds",
		"Duration of the Service outages that kubeflap saw from start to end.", "one per cause of an outage that ended", "cause"), durationBuckets())
	return []row{
		service.row(counter("kubeflap_service_outages_total",
			"Number of times the Service lost its last ready address.", perService, "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sample(float64(x.Outages)) }),
		service.row(counter("kubeflap_service_outage_seconds_total",
			"Total duration of the Service's outages, including any ongoing outage.", perService, "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sample(x.OutageTime.Seconds()) }),
		c.outages,
	}
}

// writerRows returns the metrics of who writes the addresses.
func (c *Collector) writerRows() []row {
	service := eachService()
	c.propagations = observed(histogram("kubeflap_endpoints_propagation_seconds",
		"Time from a pod's readiness change to the corresponding state change of its address, as seen by kubeflap. If both events arrive within 20 ms of each other, the time may be 0.", always, "to"), propagationBuckets(), "ready", "not_ready")
	return []row{
		service.row(counter("kubeflap_service_endpoints_resets_total",
			"Number of times all manually managed addresses of the Service were removed. The selector label shows whether the Service had a selector at that time. Foreign addresses (see kubeflap_service_foreign_addresses) do not count.", ifManuallyManaged, "namespace", "service", "selector"), func(to *Scrape, x *services.Service) {
			// The series for the Service's current state is always present. The other series is omitted while it is 0.
			to.sampleIf(x.Manual && (x.Selector || x.ResetsWithSelector > 0), float64(x.ResetsWithSelector), "true")
			to.sampleIf(x.Manual && (!x.Selector || x.ResetsSelectorless > 0), float64(x.ResetsSelectorless), "false")
		}),
		service.row(gauge("kubeflap_service_selector_conflict",
			"1 while the Service has manually managed Endpoints and a selector that matches no pod. It stays 1 after the addresses are removed, until a pod matches the selector.", ifManuallyManaged, "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sampleIf(x.Manual, boolean(x.SelectorConflict)) }),
		service.row(gauge("kubeflap_service_manual_addresses",
			"Manually managed addresses in the Service's Endpoints, or 0 after they are removed.", ifManuallyManaged, "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sampleIf(x.Manual, float64(x.ManualAddresses)) }),
		service.row(gauge("kubeflap_service_endpoints_divergence",
			"Addresses whose readiness has differed between Endpoints, EndpointSlices and pods for more than 10 s.",
			"one per Service with at least one diverging address", "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sampleIf(x.Diverging > 0, float64(x.Diverging)) }),
		service.row(gauge("kubeflap_service_foreign_addresses",
			"Foreign addresses of a Service with a selector. An address is foreign if it was written neither by Kubernetes nor by a known manager. docs/verdicts.md lists the known managers.",
			"one per Service with at least one foreign address", "namespace", "service"),
			func(to *Scrape, x *services.Service) {
				to.sampleIf(x.ForeignAddresses > 0, float64(x.ForeignAddresses))
			}),
		service.row(gauge("kubeflap_service_pods_pending",
			"Pods in phase Pending that the Service selects. Most of them have no address yet, because they are waiting for a node, a volume or an image.",
			"one per Service that has no ready address and selects Pending pods", "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sampleIf(x.PendingPods > 0, float64(x.PendingPods)) }),
		c.propagations,
		{Metric: gauge("kubeflap_service_info",
			"Constant 1. The labels show the Service's type, whether the Service has a selector, and the source of its addresses.", perService, "namespace", "service", "type", "selector", "source"), collect: func(to *Scrape, now *snapshot) {
			service.each(to, now, func(to *Scrape, x *services.Service) {
				to.sample(1, x.Type, strconv.FormatBool(x.Selector), now.source)
			})
		}},
	}
}
