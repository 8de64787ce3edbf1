package metrics

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/proto"
)

// ClusterLabel is the label for the cluster's name on pages with several clusters.
const ClusterLabel = "cluster"

// Page serves the metrics of one or more clusters and of the process.
type Page struct {
	clusters []named
	process  prometheus.Gatherer
	// histograms contains the histograms of all clusters.
	histograms *prometheus.Registry
	// idle is a finished scrape. The next scrape reuses its memory.
	idle atomic.Pointer[Scrape]
}

// named is a collector with the name of its cluster.
type named struct {
	name string
	*Collector
}

// NewPage returns a page without clusters. The parameter process provides the process metrics.
func NewPage(process prometheus.Gatherer) *Page {
	return &Page{process: process, histograms: prometheus.NewRegistry()}
}

// Add adds a cluster. Call it before the first scrape. The parameter name is the value of ClusterLabel. If it is empty,
// the series do not have this label.
func (p *Page) Add(c *Collector, name string) {
	histograms := prometheus.Registerer(p.histograms)
	if name != "" {
		histograms = prometheus.WrapRegistererWith(prometheus.Labels{ClusterLabel: name}, histograms)
	}
	p.clusters = append(p.clusters, named{name, c})
	for _, m := range c.rows {
		if m.series != nil {
			histograms.MustRegister(m.series)
		}
	}
}

// Gather returns the metrics as numbers, sorted and checked. It implements prometheus.Gatherer.
func (p *Page) Gather() ([]*dto.MetricFamily, error) {
	s, err := p.Scrape()
	if err != nil {
		return nil, err
	}
	defer s.Done()
	var all []*dto.MetricFamily
	err = s.each(func(f *dto.MetricFamily) error {
		all = append(all, proto.CloneOf(f))
		return nil
	})
	for _, f := range all {
		for _, m := range f.Metric {
			slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
	}
	return prometheus.Gatherers{prometheus.GathererFunc(func() ([]*dto.MetricFamily, error) { return all, err })}.Gather()
}

// Scrape copies all metrics. Call Scrape.Done after writing them. Scrape returns an error if a prometheus.Gatherer
// fails.
func (p *Page) Scrape() (*Scrape, error) {
	s := p.idle.Swap(nil)
	if s == nil {
		s = &Scrape{page: p, snapshots: make([]snapshot, len(p.clusters)), out: bufio.NewWriterSize(nil, 64<<10)}
	}
	for i, c := range p.clusters {
		c.snapshot(&s.snapshots[i])
	}
	// Gather the histograms after the snapshots, because taking a snapshot may add durations to the histograms.
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
