package metrics

import (
	"errors"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

// Collector reads the fold at each scrape. Its histograms are fed by Observe.
type Collector struct {
	fold *flap.Fold
	now  func() time.Time

	nodes    *nodeMetrics
	services *serviceMetrics
	pods     *podMetrics
	watches  *watchMetrics
	consumer *consumerMetrics
}

// NewCollector makes a Collector that must be given its fold by Read before it
// is scraped: the fold reports to it, so it comes first.
func NewCollector() *Collector {
	c := &Collector{
		nodes: newNodeMetrics(), services: newServiceMetrics(), pods: newPodMetrics(), watches: newWatchMetrics(),
		consumer: newConsumerMetrics(),
	}
	c.Catalogue().place()
	return c
}

// Read makes the collector read the fold, as of now().
func (c *Collector) Read(fold *flap.Fold, now func() time.Time) {
	c.fold, c.now = fold, now
}

// Catalogue lists the metrics, in the order of the reference.
func (c *Collector) Catalogue() Catalogue {
	return slices.Concat(c.nodes.catalogue(), c.services.catalogue(), c.consumer.catalogue(), c.pods.catalogue(), c.watches.catalogue())
}

// Observe feeds what a finding measured into the histograms.
func (c *Collector) Observe(x flap.Finding) {
	switch x.Kind {
	case flap.HeartbeatSeen:
		c.nodes.intervals.WithLabelValues().Observe(x.Duration.Seconds())
	case flap.NodeReadyChanged:
		if x.Complete && x.From != "true" {
			c.nodes.unreadyDurations.WithLabelValues(x.From).Observe(x.Duration.Seconds())
		}
	case flap.OutageEnded:
		if !x.Complete {
			return
		}
		c.services.outageDurations.WithLabelValues(x.Cause.String()).Observe(x.Duration.Seconds())
	case flap.AddressFollowedPod:
		c.services.propagations.WithLabelValues(x.To).Observe(x.Duration.Seconds())
	case flap.PodReadyWasStale:
		c.pods.stales.WithLabelValues().Observe(x.Duration.Seconds())
	}
}

// Describe implements prometheus.Collector.
func (c *Collector) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.Catalogue() {
		ch <- m.desc
	}
}

// Collect implements prometheus.Collector, for the few who want the metrics in a registry.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	if err := c.read(&scrape{registry: ch}); err != nil {
		ch <- prometheus.NewInvalidMetric(c.nodes.ready.desc, err)
	}
}

// read takes the metrics into a scrape, as of now.
func (c *Collector) read(s *scrape) error {
	c.look(&s.facts)
	if g := c.fold.GracePeriod(); g.Period > 0 {
		s.about(time.Time{})
		s.sample(c.nodes.grace, g.Period.Seconds(), g.Source)
	}
	source := c.fold.AddressSource().String()
	for i := range s.facts.nodes {
		c.nodes.collect(s, &s.facts.nodes[i])
	}
	for i := range s.facts.services {
		c.services.collect(s, &s.facts.services[i], source)
	}
	for i := range s.facts.namespaces {
		c.pods.collect(s, &s.facts.namespaces[i])
	}
	for i := range s.facts.watches {
		c.watches.collect(s, &s.facts.watches[i])
	}
	for i := range s.facts.tenants {
		c.consumer.collect(s, &s.facts.tenants[i])
	}
	for i := range s.facts.wrong {
		c.pods.collectMisreported(s, &s.facts.wrong[i])
	}
	return errors.Join(
		s.histogram(c.nodes.interval, c.nodes.intervals),
		s.histogram(c.nodes.unreadyDuration, c.nodes.unreadyDurations),
		s.histogram(c.services.outageDuration, c.services.outageDurations),
		s.histogram(c.services.propagation, c.services.propagations),
		s.histogram(c.pods.stale, c.pods.stales),
	)
}

// look copies the facts out of the fold, as of now: it is not to wait until they are written.
func (c *Collector) look(f *facts) {
	now := c.now()
	f.reset()
	f.nodes = c.fold.Nodes(now, f.nodes)
	f.services = c.fold.Services(now, f.services)
	f.namespaces = c.fold.Namespaces(f.namespaces)
	f.watches = c.fold.Watches(now, f.watches)
	f.tenants = c.fold.Tenants(now, f.tenants)
	f.wrong = c.fold.Misreported(now, f.wrong)
}
