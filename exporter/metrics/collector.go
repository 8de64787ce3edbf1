package metrics

import (
	"cmp"
	"slices"
	"strings"
	"sync"
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

	// buffers hold what a scrape copies out of the fold, to be used again.
	buffers sync.Pool
}

type buffer struct {
	nodes      []flap.Node
	services   []flap.Service
	namespaces []flap.Namespace
	watches    []flap.Watch
	tenants    []flap.Tenant
	wrong      []flap.Misreported
}

// sort brings nodes and Services into the order of the exposition: the registry
// sorts every series of a family, and is quick where there is nothing to do.
func (b *buffer) sort() {
	slices.SortFunc(b.nodes, func(x, y flap.Node) int { return strings.Compare(x.Name, y.Name) })
	slices.SortFunc(b.services, func(x, y flap.Service) int {
		return cmp.Or(strings.Compare(x.Namespace, y.Namespace), strings.Compare(x.Name, y.Name))
	})
}

// NewCollector makes a Collector that must be given its fold by Read before it
// is scraped: the fold reports to it, so it comes first.
func NewCollector() *Collector {
	return &Collector{
		nodes: newNodeMetrics(), services: newServiceMetrics(), pods: newPodMetrics(), watches: newWatchMetrics(),
		consumer: newConsumerMetrics(),
		buffers:  sync.Pool{New: func() any { return &buffer{} }},
	}
}

// Read makes the collector read the fold, as of now().
func (c *Collector) Read(fold *flap.Fold, now func() time.Time) {
	c.fold, c.now = fold, now
}

// Catalogue lists the metrics.
func (c *Collector) Catalogue() Catalogue {
	var all Catalogue
	for _, part := range []Catalogue{
		c.nodes.catalogue(), c.services.catalogue(), c.consumer.catalogue(), c.pods.catalogue(), c.watches.catalogue(),
	} {
		all = append(all, part...)
	}
	return all
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

// Collect implements prometheus.Collector.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	b := c.buffers.Get().(*buffer)
	defer c.buffers.Put(b)
	now := c.now()
	b.nodes = c.fold.Nodes(now, b.nodes[:0])
	b.services = c.fold.Services(now, b.services[:0])
	b.sort()
	b.namespaces = c.fold.Namespaces(b.namespaces[:0])
	b.watches = c.fold.Watches(now, b.watches[:0])
	b.tenants = c.fold.Tenants(now, b.tenants[:0])
	b.wrong = c.fold.Misreported(now, b.wrong[:0])
	if g := c.fold.GracePeriod(); g.Period > 0 {
		c.nodes.grace.sample(ch, g.Period.Seconds(), time.Time{}, g.Source)
	}
	source := c.fold.AddressSource().String()
	for i := range b.nodes {
		c.nodes.collect(ch, &b.nodes[i])
	}
	for i := range b.services {
		c.services.collect(ch, &b.services[i], source)
	}
	for i := range b.namespaces {
		c.pods.collect(ch, &b.namespaces[i])
	}
	for i := range b.watches {
		c.watches.collect(ch, &b.watches[i])
	}
	for i := range b.tenants {
		c.consumer.collect(ch, &b.tenants[i])
	}
	for _, w := range b.wrong {
		c.pods.misreported.sample(ch, float64(w.Pods), time.Time{}, w.Namespace, w.Kind)
	}
	c.nodes.intervals.Collect(ch)
	c.nodes.unreadyDurations.Collect(ch)
	c.services.outageDurations.Collect(ch)
	c.services.propagations.Collect(ch)
	c.pods.stales.Collect(ch)
}
