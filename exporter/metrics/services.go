package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track/services"
)

type serviceMetrics struct {
	addresses, flips, churn, bounces *Metric
	outages, outageTime, info        *Metric
	resets, conflict, manual         *Metric
	lost, losses, lastLoss           *Metric
	propagation                      *Metric
	divergence, foreign, pending     *Metric
	outageDuration                   *Metric
	outageDurations, propagations    *prometheus.HistogramVec
}

func propagationBuckets() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

func newServiceMetrics() *serviceMetrics {
	m := &serviceMetrics{
		addresses: gauge("kubeflap_service_addresses",
			"Distinct addresses of the Service, by state: ready, not_ready, terminating.", perService, "namespace", "service", "state"),
		flips: counter("kubeflap_service_address_flips_total",
			"Readiness changes of addresses that stayed in the Service, by new state (ready or not_ready).", perService, "namespace", "service", "to"),
		churn: counter("kubeflap_service_address_churn_total",
			"Addresses added to or removed from the Service. An address that becomes terminating counts as removed.", perService, "namespace", "service", "change"),
		bounces: counter("kubeflap_service_address_bounces_total",
			"Lost addresses that became ready again within the bounce window (--bounce-window, 2 minutes by default).", perService, "namespace", "service"),
		outages: counter("kubeflap_service_outages_total",
			"Number of times the Service lost its last ready address.", perService, "namespace", "service"),
		outageTime: counter("kubeflap_service_outage_seconds_total",
			"Total duration of the Service's outages, including any ongoing outage.", perService, "namespace", "service"),
		outageDuration: histogram("kubeflap_service_outage_duration_seconds",
			"Duration of the Service outages that kubeflap saw from start to end.", "one per cause of an outage that ended", "cause"),
		resets: counter("kubeflap_service_endpoints_resets_total",
			"Number of times all manually managed addresses of the Service were removed. The selector label shows whether the Service had a selector at that time. Foreign addresses (see kubeflap_service_foreign_addresses) do not count.", ifManuallyManaged, "namespace", "service", "selector"),
		conflict: gauge("kubeflap_service_selector_conflict",
			"1 while the Service has manually managed Endpoints and a selector that matches no pod. It stays 1 after the addresses are removed, until a pod matches the selector.", ifManuallyManaged, "namespace", "service"),
		manual: gauge("kubeflap_service_manual_addresses",
			"Manually managed addresses in the Service's Endpoints, or 0 after they are removed.", ifManuallyManaged, "namespace", "service"),
		info: gauge("kubeflap_service_info",
			"Constant 1. The labels show the Service's type, whether the Service has a selector, and the source of its addresses.", perService, "namespace", "service", "type", "selector", "source"),
	}
	m.outageDurations = m.outageDuration.vec(durationBuckets())
	m.lost = counter("kubeflap_service_addresses_lost_total",
		"Ready addresses of the Service that became not ready or were removed. Counted immediately, before the cause is known.", perService, "namespace", "service")
	m.losses = counter("kubeflap_service_address_losses_total",
		"Ready addresses of the Service that became not ready or were removed, by cause.", "one per Service and cause, after the first occurrence", "namespace", "service", "cause")
	m.lastLoss = gauge("kubeflap_service_last_loss_timestamp_seconds",
		"Unix time at which the Service last lost a ready address. The cause label shows the cause of this loss. The removal of a foreign address (see kubeflap_service_foreign_addresses) does not count while the Service has other addresses.", "one per Service that has lost a ready address", "namespace", "service", "cause")
	m.propagation = histogram("kubeflap_endpoints_propagation_seconds",
		"Time from a pod's readiness change to the corresponding state change of its address, as seen by kubeflap. If both events arrive within 20 ms of each other, the time may be 0.", always, "to")
	m.divergence = gauge("kubeflap_service_endpoints_divergence",
		"Addresses whose readiness has differed between Endpoints, EndpointSlices and pods for more than 10 s.",
		"one per Service with at least one diverging address", "namespace", "service")
	m.foreign = gauge("kubeflap_service_foreign_addresses",
		"Foreign addresses of a Service with a selector. An address is foreign if it was written neither by Kubernetes nor by a known manager. docs/verdicts.md lists the known managers.",
		"one per Service with at least one foreign address", "namespace", "service")
	m.pending = gauge("kubeflap_service_pods_pending",
		"Pods in phase Pending that the Service selects. Most of them have no address yet, because they are waiting for a node, a volume or an image.",
		"one per Service that has no ready address and selects Pending pods", "namespace", "service")
	m.propagations = m.propagation.vec(propagationBuckets())
	m.propagations.WithLabelValues("ready")
	m.propagations.WithLabelValues("not_ready")
	return m
}

func (m *serviceMetrics) catalogue() Catalogue {
	return Catalogue{
		m.addresses, m.flips, m.churn, m.bounces, m.lost, m.losses, m.lastLoss, m.outages, m.outageTime, m.outageDuration,
		m.resets, m.conflict, m.manual, m.divergence, m.foreign, m.pending, m.propagation, m.info,
	}
}

func (m *serviceMetrics) collect(to *scrape, now *snapshot) {
	for i := range now.services {
		m.collectService(to, &now.services[i], now.source)
	}
}

func (m *serviceMetrics) collectService(to *scrape, s *services.Service, source string) {
	to.startObject(s.Created, "namespace", s.Namespace, "service", s.Name)
	to.sample(m.addresses, float64(s.Ready), "ready")
	to.sample(m.addresses, float64(s.NotReady), "not_ready")
	to.sample(m.addresses, float64(s.Terminating), "terminating")
	to.sample(m.flips, float64(s.TurnedReady), "ready")
	to.sample(m.flips, float64(s.TurnedNotReady), "not_ready")
	to.sample(m.churn, float64(s.Added), "added")
	to.sample(m.churn, float64(s.Removed), "removed")
	to.sample(m.bounces, float64(s.Bounces))
	to.sample(m.lost, float64(s.Lost))
	to.sample(m.outages, float64(s.Outages))
	to.sample(m.outageTime, s.OutageTime.Seconds())
	to.sample(m.info, 1, s.Type, strconv.FormatBool(s.Selector), source)
	if s.Manual {
		m.collectManual(to, s)
	}
	if !s.LastLoss.IsZero() {
		m.collectLosses(to, s)
	}
	if s.Diverging > 0 {
		to.sample(m.divergence, float64(s.Diverging))
	}
	if s.ForeignAddresses > 0 {
		to.sample(m.foreign, float64(s.ForeignAddresses))
	}
	if s.PendingPods > 0 {
		to.sample(m.pending, float64(s.PendingPods))
	}
}

func (m *serviceMetrics) collectLosses(to *scrape, s *services.Service) {
	to.sample(m.lastLoss, seconds(s.LastLoss), s.LastCause.String())
	for why, n := range s.Losses {
		if n > 0 {
			to.sample(m.losses, float64(n), cause.Cause(why).String())
		}
	}
}

// collectManual adds the metrics of manually managed addresses. Resets with and without a selector are separate series.
// The series for the Service's current state is always present. The other series is omitted while it is 0.
func (m *serviceMetrics) collectManual(to *scrape, s *services.Service) {
	to.sample(m.conflict, boolean(s.SelectorConflict))
	to.sample(m.manual, float64(s.ManualAddresses))
	if s.Selector || s.ResetsWithSelector > 0 {
		to.sample(m.resets, float64(s.ResetsWithSelector), "true")
	}
	if !s.Selector || s.ResetsSelectorless > 0 {
		to.sample(m.resets, float64(s.ResetsSelectorless), "false")
	}
}
