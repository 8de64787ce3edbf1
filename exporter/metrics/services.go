package metrics

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/track/endpoints"
)

type serviceMetrics struct {
	addresses, flips, churn, bounces *Metric
	outages, outageTime, info        *Metric
	resets, conflict                 *Metric
	lost, losses, lastLoss           *Metric
	propagation                      *Metric
	divergence                       *Metric
	outageDuration                   *Metric
	outageDurations, propagations    *prometheus.HistogramVec
}

func propagationBuckets() []float64 {
	return []float64{0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60}
}

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
			"Length of a Service's outage, of those that ended and were seen from beginning to end.", "each cause that ended one", "cause"),
		resets: counter("kubeflap_service_endpoints_resets_total",
			"Times that the Service's hand-written addresses went from one or more to none, by whether it had a selector then.", withByHand, "namespace", "service", "selector"),
		conflict: gauge("kubeflap_service_selector_conflict",
			"1 while the Service has a selector and hand-written Endpoints, or had them wiped and no pod has matched since.", withByHand, "namespace", "service"),
		info: gauge("kubeflap_service_info",
			"1, with the Service's type, whether it has a selector, and the resource its addresses are read from.", perService, "namespace", "service", "type", "selector", "source"),
	}
	m.outageDurations = m.outageDuration.vec(durationBuckets())
	m.lost = counter("kubeflap_service_addresses_lost_total",
		"Ready addresses that the Service lost (not ready or removed), whatever the cause; counted at once, before the cause is known.", perService, "namespace", "service")
	m.losses = counter("kubeflap_service_address_losses_total",
		"Ready addresses that the Service lost (not ready or removed), by cause.", "each Service and cause once it occurred", "namespace", "service", "cause")
	m.lastLoss = gauge("kubeflap_service_last_loss_timestamp_seconds",
		"When the Service lost a ready address last, in seconds since the epoch, and by which cause.", "each Service that ever lost one", "namespace", "service", "cause")
	m.propagation = histogram("kubeflap_endpoints_propagation_seconds",
		"Time from a pod's change of Ready to that of its address, both as seen; events that come within 20 ms of one another may be seen together.", always, "to")
	m.divergence = gauge("kubeflap_service_endpoints_divergence",
		"Addresses on whose readiness Endpoints, EndpointSlices and the pods have disagreed for more than 10 s.",
		"each Service that has such addresses", "namespace", "service")
	m.propagations = m.propagation.vec(propagationBuckets())
	m.propagations.WithLabelValues("ready")
	m.propagations.WithLabelValues("not_ready")
	return m
}

func (m *serviceMetrics) catalogue() Catalogue {
	return Catalogue{
		m.addresses, m.flips, m.churn, m.bounces, m.lost, m.losses, m.lastLoss, m.outages, m.outageTime, m.outageDuration,
		m.resets, m.conflict, m.divergence, m.propagation, m.info,
	}
}

func (m *serviceMetrics) collect(to *scrape, f *facts) {
	for i := range f.services {
		m.collectService(to, &f.services[i], f.source)
	}
}

func (m *serviceMetrics) collectService(to *scrape, s *endpoints.Service, source string) {
	to.about(s.Created, "namespace", s.Namespace, "service", s.Name)
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
		m.collectByHand(to, s)
	}
	if !s.LastLoss.IsZero() {
		m.collectLosses(to, s)
	}
	if s.Diverging > 0 {
		to.sample(m.divergence, float64(s.Diverging))
	}
}

func (m *serviceMetrics) collectLosses(to *scrape, s *endpoints.Service) {
	to.sample(m.lastLoss, seconds(s.LastLoss), s.LastCause.String())
	for why, n := range s.Losses {
		if n > 0 {
			to.sample(m.losses, float64(n), cause.Cause(why).String())
		}
	}
}

// collectByHand gives a series for the Service as it is, and for as it was when it has been reset.
func (m *serviceMetrics) collectByHand(to *scrape, s *endpoints.Service) {
	to.sample(m.conflict, boolean(s.SelectorConflict))
	if s.Selector || s.ResetsWithSelector > 0 {
		to.sample(m.resets, float64(s.ResetsWithSelector), "true")
	}
	if !s.Selector || s.ResetsSelectorless > 0 {
		to.sample(m.resets, float64(s.ResetsSelectorless), "false")
	}
}
