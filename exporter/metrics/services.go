package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

type serviceMetrics struct {
	addresses, flips, churn, bounces *Metric
	outages, outageTime, info        *Metric
	resets, conflict                 *Metric
	outageDuration                   *Metric
	outageDurations                  *prometheus.HistogramVec
}

// causeUnknown is the cause of what no rule has attributed.
const causeUnknown = "unknown"

func newServiceMetrics() *serviceMetrics {
	m := &serviceMetrics{
		addresses: gauge("kubeflap_service_addresses",
			"Distinct addresses of the Service by state: ready, not_ready, terminating.", perService, "namespace", "service", "state"),
		flips: counter("kubeflap_service_address_flips_total",
			"Changes of readiness, to ready or not_ready, of addresses that stayed in the Service.", perService, "namespace", "service", "to"),
		churn: counter("kubeflap_service_address_churn_total",
			"Addresses added to and removed from the Service; one that turns terminating is removed then.", perService, "namespace", "service", "change"),
		bounces: counter("kubeflap_service_address_bounces_total",
			"Addresses that left rotation and were ready again within the bounce window.", perService, "namespace", "service"),
		outages: counter("kubeflap_service_outages_total",
			"Times that the Service lost its last ready address.", perService, "namespace", "service"),
		outageTime: counter("kubeflap_service_outage_seconds_total",
			"Time in outages of the Service, a running one included.", perService, "namespace", "service"),
		outageDuration: histogram("kubeflap_service_outage_duration_seconds",
			"Length of a Service's outage, of those that ended.", "each cause that ended one", "cause"),
		resets: counter("kubeflap_service_endpoints_resets_total",
			"Times that the Service's hand-written addresses went from one or more to none, by whether it had a selector then.", withByHand, "namespace", "service", "selector"),
		conflict: gauge("kubeflap_service_selector_conflict",
			"1 while the Service has a selector and hand-written Endpoints, or had them wiped and no pod has matched since.", withByHand, "namespace", "service"),
		info: gauge("kubeflap_service_info",
			"1, with the Service's type, whether it has a selector, and the resource its addresses are read from.", perService, "namespace", "service", "type", "selector", "source"),
	}
	m.outageDurations = m.outageDuration.vec(durationBuckets())
	m.outageDurations.WithLabelValues(causeUnknown)
	return m
}

func (m *serviceMetrics) catalogue() Catalogue {
	return Catalogue{
		m.addresses, m.flips, m.churn, m.bounces, m.outages, m.outageTime, m.outageDuration,
		m.resets, m.conflict, m.info,
	}
}

func (m *serviceMetrics) collect(ch chan<- prometheus.Metric, s *flap.Service, source string) {
	namespace, name, created := s.Namespace, s.Name, s.Created
	m.addresses.sample(ch, float64(s.Ready), created, namespace, name, "ready")
	m.addresses.sample(ch, float64(s.NotReady), created, namespace, name, "not_ready")
	m.addresses.sample(ch, float64(s.Terminating), created, namespace, name, "terminating")
	m.flips.sample(ch, float64(s.TurnedReady), created, namespace, name, "ready")
	m.flips.sample(ch, float64(s.TurnedNotReady), created, namespace, name, "not_ready")
	m.churn.sample(ch, float64(s.Added), created, namespace, name, "added")
	m.churn.sample(ch, float64(s.Removed), created, namespace, name, "removed")
	m.bounces.sample(ch, float64(s.Bounces), created, namespace, name)
	m.outages.sample(ch, float64(s.Outages), created, namespace, name)
	m.outageTime.sample(ch, s.OutageTime.Seconds(), created, namespace, name)
	m.info.sample(ch, 1, created, namespace, name, s.Type, strconv.FormatBool(s.Selector), source)
	if s.ByHand {
		m.collectByHand(ch, s)
	}
}

// collectByHand gives a series for the Service as it is, and for as it was when it has been reset.
func (m *serviceMetrics) collectByHand(ch chan<- prometheus.Metric, s *flap.Service) {
	m.conflict.sample(ch, boolean(s.SelectorConflict), s.Created, s.Namespace, s.Name)
	if s.Selector || s.ResetsWithSelector > 0 {
		m.resets.sample(ch, float64(s.ResetsWithSelector), s.Created, s.Namespace, s.Name, "true")
	}
	if !s.Selector || s.ResetsSelectorless > 0 {
		m.resets.sample(ch, float64(s.ResetsSelectorless), s.Created, s.Namespace, s.Name, "false")
	}
}
