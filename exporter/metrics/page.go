package metrics

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// ClusterLabel tells apart several clusters on one page, as Prometheus users do.
const ClusterLabel = "cluster"

// Page is what /metrics shows: the metrics of one or more clusters, and those of the process.
type Page struct {
	clusters []named
	process  prometheus.Gatherer
	// library has the same metrics of the clusters, for formats that are left to it.
	library *prometheus.Registry
	// heads are what stands before the series of each metric, by its place and encoding.
	heads [][numEncodings][]byte
	// idle is a scrape that is over, whose memory the next one uses.
	idle atomic.Pointer[Scrape]
}

// named is a cluster's collector and its name.
type named struct {
	name string
	*Collector
}

// NewPage makes a page that shows what is known of the process, and no cluster yet.
func NewPage(process prometheus.Gatherer) *Page {
	return &Page{process: process, library: prometheus.NewRegistry()}
}

// Add adds a cluster before the page is shown. Its name is in the label ClusterLabel; empty, if it is the only one.
func (p *Page) Add(c *Collector, name string) {
	registry := prometheus.Registerer(p.library)
	if name != "" {
		registry = prometheus.WrapRegistererWith(prometheus.Labels{ClusterLabel: name}, registry)
	}
	registry.MustRegister(c)
	p.clusters = append(p.clusters, named{name, c})
	all := c.Catalogue()
	p.heads = make([][numEncodings][]byte, len(all))
	for _, m := range all {
		p.heads[m.place] = [numEncodings][]byte{plainText: head(m, plainText), openMetrics: head(m, openMetrics), protobuf: description(m)}
	}
}

// Gather implements prometheus.Gatherer. It takes many times as long as a Scrape.
func (p *Page) Gather() ([]*dto.MetricFamily, error) {
	return prometheus.Gatherers{p.library, p.process}.Gather()
}

// Scrape is all metrics as of one moment.
type Scrape struct {
	page *Page
	// facts are those of each cluster.
	facts []facts
	// others are histograms and what is known of the process: the library writes them.
	others []*dto.MetricFamily
	series scrape
}

// piece is how much is written at once, but for the end.
const piece = 64 << 10

// Scrape reads all metrics. Done must be called once they are written.
func (p *Page) Scrape() (*Scrape, error) {
	s := p.idle.Swap(nil)
	if s == nil {
		s = &Scrape{page: p, facts: make([]facts, len(p.clusters)), series: scrape{out: bufio.NewWriterSize(nil, piece)}}
	}
	var err error
	if s.others, err = p.process.Gather(); err != nil {
		return nil, err
	}
	for i, c := range p.clusters {
		c.look(&s.facts[i])
	}
	histograms, err := p.histograms()
	if err != nil {
		return nil, err
	}
	s.others = append(histograms, s.others...)
	return s, nil
}

// Done gives the memory of a scrape to the next one.
func (s *Scrape) Done() {
	s.others = nil
	s.series.out.Reset(nil)
	s.page.idle.Store(s)
}

// histograms are those of all clusters.
func (p *Page) histograms() ([]*dto.MetricFamily, error) {
	var families []*dto.MetricFamily
	for i, c := range p.clusters {
		for j, h := range c.histograms() {
			if i == 0 {
				families = append(families, &dto.MetricFamily{Name: &h.metric.Name, Help: &h.metric.Help, Type: h.metric.family.Enum()})
			}
			if err := addHistogram(families[j], h.series, c.name); err != nil {
				return nil, fmt.Errorf("read %s: %w", h.metric.Name, err)
			}
		}
	}
	return families, nil
}

// addHistogram adds the series of a histogram to a family, with the name of its cluster if it has one.
func addHistogram(to *dto.MetricFamily, h *prometheus.HistogramVec, cluster string) error {
	ch := make(chan prometheus.Metric)
	go func() {
		h.Collect(ch)
		close(ch)
	}()
	var failed error
	before := len(to.Metric)
	for series := range ch {
		m := &dto.Metric{}
		if err := series.Write(m); err != nil {
			failed = err
		}
		if cluster != "" {
			m.Label = append(m.Label, &dto.LabelPair{Name: new(ClusterLabel), Value: &cluster})
		}
		to.Metric = append(to.Metric, m)
	}
	slices.SortFunc(to.Metric[before:], func(a, b *dto.Metric) int { // they come in any order
		return slices.CompareFunc(a.GetLabel(), b.GetLabel(), func(x, y *dto.LabelPair) int { return strings.Compare(x.GetValue(), y.GetValue()) })
	})
	return failed
}

// Write writes the metrics in a format that CanScrape: first the clusters', then those of the process.
func (s *Scrape) Write(w io.Writer, format expfmt.Format) error {
	s.series.encoding, _ = encodingOf(format)
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

// writeOthers lets the library write what is left to it, and what ends the format.
func (s *Scrape) writeOthers(format expfmt.Format) error {
	library := expfmt.NewEncoder(s.series.out, format)
	for _, f := range s.others {
		if len(f.Metric) == 0 {
			continue // it would be refused
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

// writeSeries writes all but histograms, metric by metric.
func (s *Scrape) writeSeries() error {
	for i, part := range s.page.clusters[0].parts {
		x := &s.series
		x.part()
		for _, m := range part.metrics {
			x.begin(m, s.page.heads[m.place][x.encoding])
			for j, c := range s.page.clusters {
				x.cluster = c.name
				c.parts[i].collect(x, &s.facts[j])
			}
			if err := x.end(); err != nil {
				return fmt.Errorf("write %s: %w", m.Name, err)
			}
		}
	}
	return nil
}
