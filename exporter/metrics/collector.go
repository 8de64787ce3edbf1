package metrics

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

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

	// scrapes are those that are over, to be used again.
	scrapes sync.Pool
}

// NewCollector makes a Collector that must be given its fold by Read before it
// is scraped: the fold reports to it, so it comes first.
func NewCollector() *Collector {
	c := &Collector{
		nodes: newNodeMetrics(), services: newServiceMetrics(), pods: newPodMetrics(), watches: newWatchMetrics(),
		consumer: newConsumerMetrics(),
	}
	all := c.Catalogue()
	all.place()
	c.scrapes.New = func() any { return newScrape(all) }
	return c
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

// Collect implements prometheus.Collector, for the few who want the metrics in a registry.
func (c *Collector) Collect(ch chan<- prometheus.Metric) {
	s := newScrape(c.Catalogue())
	if err := c.read(s); err != nil {
		ch <- prometheus.NewInvalidMetric(c.nodes.ready.desc, err)
		return
	}
	for _, m := range c.Catalogue() {
		for _, x := range s.families[m.place].Metric {
			ch <- series{m.desc, x}
		}
	}
}

// Gather implements prometheus.TransactionalGatherer: a registry would check and sort every
// series anew at each scrape, which takes longer than all the rest.
func (c *Collector) Gather() (families []*dto.MetricFamily, done func(), err error) {
	s := c.scrapes.Get().(*scrape)
	s.reset()
	err = c.read(s)
	return s.show(), func() { c.scrapes.Put(s) }, err
}

// beside is a collector and what else there is to show, with other names.
type beside struct {
	*Collector
	others prometheus.Gatherer
}

// Beside gathers the collector's metrics and those of a registry, which must not have any of them.
func (c *Collector) Beside(registry prometheus.Gatherer) prometheus.TransactionalGatherer {
	return beside{c, registry}
}

func (b beside) Gather() (families []*dto.MetricFamily, done func(), err error) {
	others, otherErr := b.others.Gather()
	ours, done, err := b.Collector.Gather()
	families = slices.Concat(ours, others)
	slices.SortFunc(families, func(x, y *dto.MetricFamily) int { return strings.Compare(x.GetName(), y.GetName()) })
	return families, done, errors.Join(err, otherErr)
}

// read fills a scrape, as of now.
func (c *Collector) read(s *scrape) error {
	now := c.now()
	s.nodes = c.fold.Nodes(now, s.nodes)
	s.services = c.fold.Services(now, s.services)
	s.sort()
	s.namespaces = c.fold.Namespaces(s.namespaces)
	s.watches = c.fold.Watches(now, s.watches)
	s.tenants = c.fold.Tenants(now, s.tenants)
	s.wrong = c.fold.Misreported(now, s.wrong)
	if g := c.fold.GracePeriod(); g.Period > 0 {
		s.sample(c.nodes.grace, g.Period.Seconds(), time.Time{}, g.Source)
	}
	source := c.fold.AddressSource().String()
	for i := range s.nodes {
		c.nodes.collect(s, &s.nodes[i])
	}
	for i := range s.services {
		c.services.collect(s, &s.services[i], source)
	}
	for i := range s.namespaces {
		c.pods.collect(s, &s.namespaces[i])
	}
	for i := range s.watches {
		c.watches.collect(s, &s.watches[i])
	}
	for i := range s.tenants {
		c.consumer.collect(s, &s.tenants[i])
	}
	for _, w := range s.wrong {
		s.sample(c.pods.misreported, float64(w.Pods), time.Time{}, w.Namespace, w.Kind)
	}
	return errors.Join(
		s.histogram(c.nodes.interval, c.nodes.intervals),
		s.histogram(c.nodes.unreadyDuration, c.nodes.unreadyDurations),
		s.histogram(c.services.outageDuration, c.services.outageDurations),
		s.histogram(c.services.propagation, c.services.propagations),
		s.histogram(c.pods.stale, c.pods.stales),
	)
}
