package metrics

import (
	"bufio"
	"fmt"
	"io"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
)

// ClusterLabel is the label for the cluster's name on pages with several clusters.
const ClusterLabel = "cluster"

// Page serves the metrics of one or more clusters and of the process.
type Page struct {
	clusters []named
	// registry contains the process metrics, and the histograms of all clusters.
	registry *prometheus.Registry
	// heads holds the encoded name, help and type of each metric. Its indexes are the metric's index and the encoding.
	heads [][numEncodings][]byte
	// idle is a finished scrape. The next scrape reuses its memory.
	idle atomic.Pointer[Scrape]
}

// named is a collector with the name of its cluster.
type named struct {
	name string
	*Collector
}

// NewPage returns a page without clusters. The registry contains the process metrics. Add adds the histograms to it.
func NewPage(registry *prometheus.Registry) *Page { return &Page{registry: registry} }

// Add adds a cluster. Call it before the first scrape. The parameter name is the value of ClusterLabel. If it is empty,
// the series do not have this label.
func (p *Page) Add(c *Collector, name string) {
	histograms := prometheus.Registerer(p.registry)
	if name != "" {
		histograms = prometheus.WrapRegistererWith(prometheus.Labels{ClusterLabel: name}, histograms)
	}
	p.clusters = append(p.clusters, named{name, c})
	p.heads = make([][numEncodings][]byte, len(c.rows))
	for i, m := range c.rows {
		if m.series != nil {
			histograms.MustRegister(m.series)
		}
		for e := range numEncodings {
			p.heads[i][e] = headOf(m.Name, m.Help, m.Type, e)
		}
	}
}

// piece is the number of bytes to buffer before a write.
const piece = 64 << 10

// Scrape copies all metrics. Call Scrape.Done after writing them. Scrape returns an error if a collector of
// the registry fails.
func (p *Page) Scrape() (*Scrape, error) {
	s := p.idle.Swap(nil)
	if s == nil {
		s = &Scrape{page: p, snapshots: make([]snapshot, len(p.clusters)), out: bufio.NewWriterSize(nil, piece)}
	}
	for i, c := range p.clusters {
		c.snapshot(&s.snapshots[i])
	}
	// Gather the histograms after the snapshots, because taking a snapshot may add durations to the histograms.
	others, err := p.registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("read the histograms and the process metrics: %w", err)
	}
	s.others = others
	return s, nil
}

// Done releases the scrape's memory for the next scrape.
func (s *Scrape) Done() {
	s.others = nil
	s.out.Reset(nil)
	s.page.idle.Store(s)
}

// Write writes the metrics in one of the Formats. The histograms and the process metrics come last.
func (s *Scrape) Write(w io.Writer, format expfmt.Format) error {
	s.encoding = encodingOf(format)
	s.out.Reset(w)
	if len(s.page.clusters) > 0 {
		if err := s.writeSeries(); err != nil {
			return err
		}
	}
	if err := s.writeOthers(format); err != nil {
		return err
	}
	if err := s.out.Flush(); err != nil {
		return fmt.Errorf("write the metrics: %w", err)
	}
	return nil
}

// writeOthers writes the metrics in s.others. It also ends the output.
func (s *Scrape) writeOthers(format expfmt.Format) error {
	library := expfmt.NewEncoder(s.out, format)
	for _, f := range s.others {
		if len(f.Metric) == 0 {
			continue // expfmt rejects empty families
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
