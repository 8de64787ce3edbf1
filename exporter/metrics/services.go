package metrics

import (
	"strconv"
	"time"

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
		service.row(counter("kubeflap_service_addresses_lost_total",
			"Ready addresses of the Service that became not ready or were removed, by class. Counted once the class is final.", perServiceClass, "namespace", "service", "class"),
			func(to *Scrape, x *services.Service) {
				for class, n := range x.Lost {
					sampleClass(to, x, class, float64(n))
				}
			}),
		service.row(counter("kubeflap_service_address_losses_total",
			"Ready addresses of the Service that became not ready or were removed, by cause.", "per Service and cause", "namespace", "service", "cause"), func(to *Scrape, x *services.Service) {
			for why, n := range x.Losses {
				if n > 0 {
					to.sample(float64(n), cause.Cause(why).String())
				}
			}
		}),
		service.row(gauge("kubeflap_service_last_loss_timestamp_seconds",
			"Unix time at which the Service last lost a ready address. The cause label shows the cause of this loss. The removal of a foreign address (see kubeflap_service_addresses_wrong) does not count while the Service has other addresses.", "per Service that has lost a ready address", "namespace", "service", "cause"), func(to *Scrape, x *services.Service) {
			if !x.LastLoss.IsZero() {
				to.sample(seconds(x.LastLoss), x.LastCause.String())
			}
		}),
	}
}

// sampleClass adds a series of a class. Only the class "unplanned" has a series while it is 0. The others are created when
// they are first counted.
func sampleClass(to *Scrape, x *services.Service, class int, value float64) {
	if cause.Class(class) != cause.Unplanned {
		to.created = x.ClassSince[class]
	}
	to.sampleIf(value > 0 || cause.Class(class) == cause.Unplanned, value, cause.Class(class).String())
}

// outageRows returns the metrics of outages.
func (c *Collector) outageRows() []row {
	service := eachService()
	start := kind[services.OutageStart]{"outage", func(now *snapshot) []services.OutageStart { return now.outages }, func(to *Scrape, x *services.OutageStart) {
		to.startObject(time.Time{}, x.Namespace, x.Name)
	}}
	c.outages = observed(histogram("kubeflap_service_outage_duration_seconds",
		"Duration of the Service outages that kubeflap saw from start to end.", "per cause of an outage that ended", "cause"), durationBuckets())
	return []row{
		service.row(counter("kubeflap_service_outages_total",
			"Number of times the Service lost its last ready address, by class. Counted once the class is final.", perServiceClass, "namespace", "service", "class"),
			func(to *Scrape, x *services.Service) {
				for class, n := range x.Outages {
					sampleClass(to, x, class, float64(n))
				}
			}),
		service.row(counter("kubeflap_service_outage_seconds_total",
			"Total duration of the Service's outages, by class. Includes the ongoing outage once its class is final.", perServiceClass, "namespace", "service", "class"),
			func(to *Scrape, x *services.Service) {
				for class, spent := range x.OutageTime {
					sampleClass(to, x, class, spent.Seconds())
				}
			}),
		start.row(gauge("kubeflap_service_outage_start_timestamp_seconds",
			"Unix time at which the ongoing outage of the Service began. It is 0 once the outage has ended, its class has changed, or the Service was deleted.",
			"per Service and class, during an outage and for an hour after it. Absent once the watch of Services or addresses has been broken for 90 s", "namespace", "service", "class"),
			func(to *Scrape, x *services.OutageStart) {
				if x.Start.IsZero() {
					to.sample(0, x.Class.String())
				} else {
					to.sample(seconds(x.Start), x.Class.String())
				}
			}),
		c.outages,
	}
}

// writerRows returns the metrics of who writes the addresses.
func (c *Collector) writerRows() []row {
	service := eachService()
	c.propagations = observed(histogram("kubeflap_endpoints_propagation_seconds",
		"Time from a pod's readiness change to the corresponding state change of its address, as seen by kubeflap. If both events arrive within 40 ms of each other, the time may be 0.", always, "to"), propagationBuckets(), "ready", "not_ready")
	return []row{
		service.row(counter("kubeflap_service_endpoints_resets_total",
			"Number of times all manually managed addresses of the Service were removed. The selector label shows whether the Service had a selector at that time. Foreign addresses (see kubeflap_service_addresses_wrong) do not count.", ifManuallyManaged, "namespace", "service", "selector"), func(to *Scrape, x *services.Service) {
			// The series for the Service's current state is always present. The other series is omitted while it is 0.
			to.sampleIf(x.Manual && (x.Selector || x.ResetsWithSelector > 0), float64(x.ResetsWithSelector), "true")
			to.sampleIf(x.Manual && (!x.Selector || x.ResetsSelectorless > 0), float64(x.ResetsSelectorless), "false")
		}),
		service.row(gauge("kubeflap_service_endpoints_last_reset_timestamp_seconds",
			"Unix time at which all manually managed addresses of the Service were last removed. The selector label shows whether the Service had a selector at that time.",
			"per Service and selector after the first reset", "namespace", "service", "selector"), func(to *Scrape, x *services.Service) {
			to.sampleIf(!x.LastReset.WithSelector.IsZero(), seconds(x.LastReset.WithSelector), "true")
			to.sampleIf(!x.LastReset.Selectorless.IsZero(), seconds(x.LastReset.Selectorless), "false")
		}),
		service.row(gauge("kubeflap_service_selector_conflict",
			"1 while the Service has manually managed Endpoints and a selector that matches no pod. It stays 1 after the addresses are removed, until a pod matches the selector.", ifManuallyManaged, "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sampleIf(x.Manual, boolean(x.SelectorConflict)) }),
		service.row(gauge("kubeflap_service_addresses_wrong",
			"Wrong addresses of the Service, by kind. diverged: their readiness has differed between Endpoints, EndpointSlices and pods for more than 10 s. foreign: the Service has a selector, and neither Kubernetes nor a known manager wrote them. docs/verdicts.md lists the known managers.",
			"per Service and kind with at least one such address", "namespace", "service", "kind"),
			func(to *Scrape, x *services.Service) {
				to.sampleIf(x.Diverging > 0, float64(x.Diverging), "diverged")
				to.sampleIf(x.ForeignAddresses > 0, float64(x.ForeignAddresses), "foreign")
			}),
		service.row(gauge("kubeflap_service_pods_pending",
			"Pods in phase Pending that the Service selects. Most of them have no address yet, because they are waiting for a node, a volume or an image.",
			"per Service that has no ready address and selects Pending pods", "namespace", "service"),
			func(to *Scrape, x *services.Service) { to.sampleIf(x.PendingPods > 0, float64(x.PendingPods)) }),
		staleReadds(service),
		c.propagations,
		single(counter("kubeflap_endpoints_propagations_total",
			"Readiness changes of pods that reached the addresses of a Service.", always), func(to *Scrape, _ *snapshot) {
			to.sample(float64(c.propagated.Load()))
		}),
		single(counter("kubeflap_endpoints_propagations_slow_total",
			"Readiness changes of pods that took longer than 5 s to reach the addresses of a Service.", always), func(to *Scrape, _ *snapshot) {
			to.sample(float64(c.slow.Load()))
		}),
		{Metric: gauge("kubeflap_service_info",
			"Constant 1. The labels show the Service's type, whether the Service has a selector, and the source of its addresses.", perService, "namespace", "service", "type", "selector", "source"), collect: func(to *Scrape, now *snapshot) {
			service.each(to, now, func(to *Scrape, x *services.Service) {
				to.sample(1, x.Type, strconv.FormatBool(x.Selector), now.source)
			})
		}},
	}
}

// staleReadds returns the metric of clients that batch endpoint updates. It has the two shortest windows.
func staleReadds(service kind[services.Service]) row {
	return service.row(counter("kubeflap_service_stale_readds_total",
		"Addresses that a simulated client with this batching window put back into rotation during an in-place image change, before the pod was Ready with the new container. Each address counts at most once per change, and only in the first 2 minutes. Assumes that the updater has removed the address from the load balancer.",
		"per window (0s, 2s) and Service that has pods", "namespace", "service", "window"), func(to *Scrape, x *services.Service) {
		for i, n := range x.StaleReadds[:2] {
			to.sampleIf(x.HasPods || n > 0, float64(n), [...]string{"0s", "2s"}[i])
		}
	})
}
