package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/track"
)

// Collector reads the fold at each scrape. Its histograms are fed by Observe.
type Collector struct {
	fold *track.Fold
	now  func() time.Time

	nodes    *nodeMetrics
	services *serviceMetrics
	pods     *podMetrics
	watches  *watchMetrics
	consumer *consumerMetrics
	parts    []part
}

// NewCollector makes a Collector that must be given its fold by Read before it
// is scraped: the fold reports to it, so it comes first.
func NewCollector() *Collector {
	c := &Collector{
		nodes: newNodeMetrics(), services: newServiceMetrics(), pods: newPodMetrics(), watches: newWatchMetrics(),
		consumer: newConsumerMetrics(),
	}
	c.parts = []part{
		{c.nodes.catalogue(), c.nodes.collect},
		{c.services.catalogue(), c.services.collect},
		{c.consumer.catalogue(), c.consumer.collect},
		{c.pods.catalogue(), c.pods.collect},
		{c.watches.catalogue(), c.watches.collect},
	}
	c.Catalogue().place()
	return c
}

// Read makes the collector read the fold, as of now().
func (c *Collector) Read(fold *track.Fold, now func() time.Time) {
	c.fold, c.now = fold, now
}

// Catalogue lists the metrics, in the order of the reference.
func (c *Collector) Catalogue() Catalogue {
	var all Catalogue
	for _, part := range c.parts {
		all = append(all, part.metrics...)
	}
	return all
}

// Observe feeds what a finding measured into the histograms.
func (c *Collector) Observe(x track.Finding) {
	switch x.Kind {
	case track.HeartbeatSeen:
		c.nodes.intervals.WithLabelValues().Observe(x.Duration.Seconds())
	case track.NodeReadyChanged:
		if x.Complete && x.From != "true" {
			c.nodes.unreadyDurations.WithLabelValues(x.From).Observe(x.Duration.Seconds())
		}
	case track.OutageEnded:
		if !x.Complete {
			return
		}
		c.services.outageDurations.WithLabelValues(x.Cause.String()).Observe(x.Duration.Seconds())
	case track.AddressFollowedPod:
		c.services.propagations.WithLabelValues(x.To).Observe(x.Duration.Seconds())
	case track.PodReadyWasStale:
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
	var f facts
	c.look(&f)
	s := &scrape{registry: ch, metric: everyMetric}
	for _, part := range c.parts {
		part.collect(s, &f)
	}
	for _, h := range c.histograms() {
		h.series.Collect(ch)
	}
}

// chosen are some metrics of a collector.
type chosen struct {
	of     *Collector
	chosen func(*Metric) bool
}

// Only gives the metrics of these names, for a registry: there a series takes hundreds of bytes, and a cluster has many.
func (c *Collector) Only(names []string) prometheus.Collector {
	return &chosen{c, func(m *Metric) bool { return slices.Contains(names, m.Name) }}
}

// Describe implements prometheus.Collector.
func (c *chosen) Describe(ch chan<- *prometheus.Desc) {
	for _, m := range c.of.Catalogue() {
		if c.chosen(m) {
			ch <- m.desc
		}
	}
}

// Collect implements prometheus.Collector.
func (c *chosen) Collect(ch chan<- prometheus.Metric) {
	var f facts
	c.of.look(&f)
	s := &scrape{registry: ch}
	for _, part := range c.of.parts {
		for _, m := range part.metrics {
			if s.metric = m.place; c.chosen(m) {
				part.collect(s, &f)
			}
		}
	}
	for _, h := range c.of.histograms() {
		if c.chosen(h.metric) {
			h.series.Collect(ch)
		}
	}
}

// facts is what was copied out of the fold, which is not to wait until it is written.
type facts struct {
	grace      track.Grace
	source     string
	nodes      []track.Node
	services   []track.Service
	namespaces []track.Namespace
	watches    []track.Watch
	tenants    []track.Tenant
	wrong      []track.Misreported
}

// look copies the facts out of the fold, as of now, into the memory of earlier ones.
func (c *Collector) look(f *facts) {
	now := c.now()
	f.grace, f.source = c.fold.GracePeriod(), c.fold.AddressSource().String()
	f.nodes = c.fold.Nodes(now, f.nodes[:0])
	f.services = c.fold.Services(now, f.services[:0])
	f.namespaces = c.fold.Namespaces(now, f.namespaces[:0])
	f.watches = c.fold.Watches(now, f.watches[:0])
	f.tenants = c.fold.Tenants(now, f.tenants[:0])
	f.wrong = c.fold.Misreported(now, f.wrong[:0])
}

// part is the metrics of one kind of thing, and takes their series into a scrape.
type part struct {
	metrics Catalogue
	collect func(*scrape, *facts)
}

// observed is a histogram, which counts by itself.
type observed struct {
	metric *Metric
	series *prometheus.HistogramVec
}

func (c *Collector) histograms() []observed {
	return []observed{
		{c.nodes.interval, c.nodes.intervals},
		{c.nodes.unreadyDuration, c.nodes.unreadyDurations},
		{c.services.outageDuration, c.services.outageDurations},
		{c.services.propagation, c.services.propagations},
		{c.pods.stale, c.pods.stales},
	}
}
