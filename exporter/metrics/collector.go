package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
	"github.com/kubeflap/kubeflap/exporter/track/endpoints"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Collector reads the tracker at each scrape. Its histograms are fed by Observe.
type Collector struct {
	tracker *track.Tracker
	now     func() time.Time

	nodes    *nodeMetrics
	services *serviceMetrics
	pods     *podMetrics
	watches  *watchMetrics
	consumer *consumerMetrics
	parts    []part
}

// NewCollector makes a Collector that must be given its tracker by Read before it
// is scraped: the tracker reports to it, so it comes first.
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

// Read makes the collector read the tracker, as of now().
func (c *Collector) Read(tracker *track.Tracker, now func() time.Time) {
	c.tracker, c.now = tracker, now
}

// Catalogue lists the metrics, in the order of the reference.
func (c *Collector) Catalogue() Catalogue {
	var all Catalogue
	for _, part := range c.parts {
		all = append(all, part.metrics...)
	}
	return all
}

// Observe feeds the durations of a transition into the histograms.
func (c *Collector) Observe(x transition.Transition) {
	switch x := x.(type) {
	case transition.HeartbeatSeen:
		c.nodes.intervals.WithLabelValues().Observe(x.Interval.Seconds())
	case transition.NodeReadyChanged:
		if x.Complete && x.From != event.StatusTrue {
			c.nodes.unreadyDurations.WithLabelValues(x.From.String()).Observe(x.Lasted.Seconds())
		}
	case transition.OutageEnded:
		if x.Complete {
			c.services.outageDurations.WithLabelValues(x.Cause.String()).Observe(x.Lasted.Seconds())
		}
	case transition.AddressFollowedPod:
		c.services.propagations.WithLabelValues(transition.Readiness(x.Ready)).Observe(x.Delay.Seconds())
	case transition.PodReadyWasStale:
		c.pods.stales.WithLabelValues().Observe(x.Stale.Seconds())
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

// facts is what was copied out of the tracker, which is not to wait until it is written.
type facts struct {
	grace      nodes.Grace
	source     string
	nodes      []nodes.Node
	services   []endpoints.Service
	namespaces []pods.Namespace
	watches    []watches.Watch
	tenants    []consumers.Namespace
	wrong      []pods.Misreported
}

// look copies the facts out of the tracker, as of now, into the memory of earlier ones.
func (c *Collector) look(f *facts) {
	now := c.now()
	f.grace, f.source = c.tracker.GracePeriod(), c.tracker.AddressSource().String()
	f.nodes = c.tracker.Nodes(now, f.nodes[:0])
	f.services = c.tracker.Services(now, f.services[:0])
	f.namespaces = c.tracker.Namespaces(now, f.namespaces[:0])
	f.watches = c.tracker.Watches(now, f.watches[:0])
	f.tenants = c.tracker.Consumers(now, f.tenants[:0])
	f.wrong = c.tracker.Misreported(now, f.wrong[:0])
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
