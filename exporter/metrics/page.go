package metrics

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/encoding/protowire"
)

// ClusterLabel tells apart several clusters on one page, as Prometheus users do.
const ClusterLabel = "cluster"

// Page is what /metrics shows: the metrics of one or more clusters, and those of the process.
type Page struct {
	clusters []named
	process  prometheus.Gatherer
	// library has the same metrics of the clusters, for formats that are left to the library.
	library *prometheus.Registry
	// idle is a scrape that is over, whose memory the next one uses.
	idle atomic.Pointer[Scrape]
}

// named is a cluster's collector and its name.
type named struct {
	name string
	*Collector
}

// NewPage makes a page that shows what is known of the process, with no cluster yet.
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
}

// Gather implements prometheus.Gatherer. It takes many times as long as a Scrape.
func (p *Page) Gather() ([]*dto.MetricFamily, error) {
	return prometheus.Gatherers{p.library, p.process}.Gather()
}

// CanScrape reports whether Scrape knows the format.
func CanScrape(format expfmt.Format) bool {
	_, ok := encodingOf(format)
	return ok
}

// keepsNames reports whether a format leaves names such as ours as they are.
func keepsNames(format expfmt.Format) bool {
	escaping := format.ToEscapingScheme()
	return escaping == model.NoEscaping || escaping == model.UnderscoreEscaping
}

// Scrape is all metrics, as of one moment, in a format.
type Scrape struct {
	page    *Page
	format  expfmt.Format
	ours    *scrape
	process []*dto.MetricFamily
}

// Scrape reads all metrics in a format that CanScrape. Done must be called when it has been written.
func (p *Page) Scrape(format expfmt.Format) (*Scrape, error) {
	s := p.idle.Swap(nil)
	if s == nil {
		s = &Scrape{page: p, ours: newScrape(p.catalogue())}
	}
	s.format = format
	e, _ := encodingOf(format)
	s.ours.reset(e)
	process, failed := p.process.Gather()
	s.process = process
	for _, c := range p.clusters {
		s.ours.cluster = c.name
		failed = errors.Join(failed, c.read(s.ours))
	}
	if failed != nil {
		return nil, failed
	}
	return s, nil
}

// catalogue is that of each cluster.
func (p *Page) catalogue() Catalogue {
	if len(p.clusters) == 0 {
		return nil
	}
	return p.clusters[0].Catalogue()
}

// Done gives the memory of a scrape to the next one.
func (s *Scrape) Done() {
	s.process = nil
	s.page.idle.Store(s)
}

// Write writes the metrics: first the clusters', then those of the process.
func (s *Scrape) Write(w io.Writer) error {
	library := expfmt.NewEncoder(w, s.format)
	for i := range s.ours.families {
		if err := s.ours.families[i].write(w, s.ours.format, library); err != nil {
			return err
		}
	}
	for _, f := range s.process {
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

// write writes a family that has series.
func (f *family) write(w io.Writer, format encoding, library expfmt.Encoder) (err error) {
	m := f.metric
	switch {
	case len(f.histograms) > 0:
		err = library.Encode(&dto.MetricFamily{Name: &m.Name, Help: &m.Help, Type: m.family.Enum(), Metric: f.histograms})
	case len(f.written) == 0:
		return nil
	default:
		head := f.heads[format]
		if format == protobuf {
			head = slices.Concat(protowire.AppendVarint(nil, uint64(len(head)+len(f.written))), head)
		}
		if _, err = w.Write(head); err == nil {
			_, err = w.Write(f.written)
		}
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", m.Name, err)
	}
	return nil
}
