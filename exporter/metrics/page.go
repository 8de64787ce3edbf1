package metrics

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/metrics/exposition"
)

// ClusterLabel is the label with the name of the cluster, if a page has several.
const ClusterLabel = "cluster"

// Page has the metrics of one or more clusters and those of the process.
type Page struct {
	clusters []named
	process  prometheus.Gatherer
	// histograms has those of the clusters, and library all their metrics, for the formats that client_golang writes.
	histograms, library *prometheus.Registry
	// heads are what precedes the series of a metric, by its index and encoding.
	heads [][exposition.NumEncodings][]byte
	// idle is the memory of the last scrape, for the next one.
	idle atomic.Pointer[Scrape]
}

// named is a cluster's collector and the value of ClusterLabel.
type named struct {
	name string
	*Collector
}

// NewPage returns a page with the metrics of the process and no cluster yet.
func NewPage(process prometheus.Gatherer) *Page {
	return &Page{process: process, histograms: prometheus.NewRegistry(), library: prometheus.NewRegistry()}
}

// Add adds a cluster before the first scrape. Its name becomes the label ClusterLabel; leave it empty for the only cluster.
func (p *Page) Add(c *Collector, name string) {
	library, histograms := prometheus.Registerer(p.library), prometheus.Registerer(p.histograms)
	if name != "" {
		labels := prometheus.Labels{ClusterLabel: name}
		library, histograms = prometheus.WrapRegistererWith(labels, library), prometheus.WrapRegistererWith(labels, histograms)
	}
	library.MustRegister(c)
	for _, h := range c.histograms() {
		histograms.MustRegister(h.series)
	}
	p.clusters = append(p.clusters, named{name, c})
	all := c.catalogue()
	p.heads = make([][exposition.NumEncodings][]byte, len(all))
	for _, m := range all {
		for e := range exposition.NumEncodings {
			p.heads[m.index][e] = exposition.Head(m.Name, m.Help, m.Type, e)
		}
	}
}

// Gather implements prometheus.Gatherer, for the formats that Scrape cannot write.
func (p *Page) Gather() ([]*dto.MetricFamily, error) {
	return prometheus.Gatherers{p.library, p.process}.Gather()
}

// Scrape has all metrics of one moment.
type Scrape struct {
	page *Page
	// snapshots are those of each cluster.
	snapshots []snapshot
	// others are the histograms and the metrics of the process. The library writes them.
	others []*dto.MetricFamily
	series scrape
}

// piece is how many bytes are written at once.
const piece = 64 << 10

// Scrape reads all metrics. Call Done when they are written.
func (p *Page) Scrape() (*Scrape, error) {
	s := p.idle.Swap(nil)
	if s == nil {
		s = &Scrape{page: p, snapshots: make([]snapshot, len(p.clusters)), series: scrape{out: bufio.NewWriterSize(nil, piece)}}
	}
	for i, c := range p.clusters {
		c.snapshot(&s.snapshots[i])
	}
	// The snapshots may have added to the histograms.
	histograms, err := p.histograms.Gather()
	if err != nil {
		return nil, fmt.Errorf("read the histograms: %w", err)
	}
	process, err := p.process.Gather()
	if err != nil {
		return nil, err
	}
	s.others = slices.Concat(histograms, process)
	return s, nil
}

// Done passes the memory of the scrape to the next one.
func (s *Scrape) Done() {
	s.others = nil
	s.series.out.Reset(nil)
	s.page.idle.Store(s)
}

// CanScrape reports whether Scrape.Write knows the format. The others are rare, or escape names that kubeflap does not use.
func CanScrape(format expfmt.Format) bool {
	_, ok := exposition.Of(format)
	return ok
}

// Write writes the metrics in a format that CanScrape accepts, those of the process last.
func (s *Scrape) Write(w io.Writer, format expfmt.Format) error {
	s.series.encoding, _ = exposition.Of(format)
	s.series.out.Reset(w)
	if len(s.page.clusters) > 0 {
		if err := s.writeSeries(); err != nil {
			return err
		}
	}
	if err := s.writeOthers(format); err != nil {
		return err
	}
	if err := s.series.out.Flush(); err != nil {
		return fmt.Errorf("write the metrics: %w", err)
	}
	return nil
}

// writeOthers lets the library write the other metrics and the end of the format.
func (s *Scrape) writeOthers(format expfmt.Format) error {
	library := expfmt.NewEncoder(s.series.out, format)
	for _, f := range s.others {
		if len(f.Metric) == 0 {
			continue // the library refuses an empty family
		}
		if err := library.Encode(f); err != nil {
			return fmt.Errorf("write %s: %w", f.GetName(), err)
		}
	}
	if closer, ok := library.(expfmt.Closer); ok {
		if err := closer.Close(); err != nil {
			return fmt.Errorf("end the metrics: %w", err)
		}
	}
	return nil
}

// writeSeries writes gauges and counters, metric by metric.
func (s *Scrape) writeSeries() error {
	for i, g := range s.page.clusters[0].groups {
		x := &s.series
		x.startGroup()
		for _, m := range g.metrics {
			x.startMetric(m, s.page.heads[m.index][x.encoding])
			for j, c := range s.page.clusters {
				x.cluster = c.name
				c.groups[i].collect(x, &s.snapshots[j])
			}
			if err := x.endMetric(); err != nil {
				return fmt.Errorf("write %s: %w", m.Name, err)
			}
		}
	}
	return nil
}
