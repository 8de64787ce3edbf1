package metrics

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

// scrape takes the series in, object by object, and writes them at once as they will be sent: a large cluster has
// a hundred thousand of them, and what lies between the fold and the bytes would be made and thrown away for each. Nothing is
// checked or sorted: the declarations are.
type scrape struct {
	format encoding
	// families are in the order of their names; a metric knows its place.
	families []family
	// registry gets the series instead, if there is one.
	registry chan<- prometheus.Metric

	// cluster is the name of the one that is being read, empty if there is but one.
	cluster string
	// object is the one whose series are being taken in.
	object object
	// scratch is memory for a message.
	scratch []byte
	facts   facts
}

// encoding is how the series are written.
type encoding int

const (
	plainText encoding = iota
	openMetrics
	protobuf
	numEncodings
)

// encodingOf is that of a format; ok is false for one that is left to the library: rare ones, and those that escape our names.
func encodingOf(format expfmt.Format) (e encoding, ok bool) {
	switch format.FormatType() {
	case expfmt.TypeTextPlain:
		e = plainText
	case expfmt.TypeOpenMetrics:
		e = openMetrics
	case expfmt.TypeProtoDelim:
		e = protobuf
	default:
		return e, false
	}
	return e, keepsNames(format)
}

// family is a metric with its series: written already, or histograms that the library is to write.
type family struct {
	metric *Metric
	// heads are what stands before the series, by encoding.
	heads      [numEncodings][]byte
	written    []byte
	histograms []*dto.Metric
}

// object is what has series: the time at which its counters were 0, its first labels, by name and value in turn, and these as they are written.
type object struct {
	created time.Time
	labels  []string
	written []byte
}

// facts is what was copied out of the fold.
type facts struct {
	nodes      []flap.Node
	services   []flap.Service
	namespaces []flap.Namespace
	watches    []flap.Watch
	tenants    []flap.Tenant
	wrong      []flap.Misreported
}

// reset forgets the facts, and keeps their memory.
func (f *facts) reset() {
	f.nodes, f.services, f.namespaces = f.nodes[:0], f.services[:0], f.namespaces[:0]
	f.watches, f.tenants, f.wrong = f.watches[:0], f.tenants[:0], f.wrong[:0]
}

// newScrape makes the families of a catalogue, whose metrics have their places.
func newScrape(all Catalogue) *scrape {
	s := &scrape{families: make([]family, len(all))}
	for _, m := range all {
		f := &s.families[m.place]
		f.metric = m
		f.heads = [numEncodings][]byte{plainText: head(m, plainText), openMetrics: head(m, openMetrics), protobuf: description(m)}
	}
	return s
}

// reset forgets the scrape before.
func (s *scrape) reset(format encoding) {
	s.format = format
	for i := range s.families {
		f := &s.families[i]
		f.written, f.histograms = f.written[:0], f.histograms[:0]
	}
}

// about begins an object: labels are the first ones of its metrics, by name and value in turn.
func (s *scrape) about(created time.Time, labels ...string) {
	o := &s.object
	o.created, o.labels, o.written = created, o.labels[:0], o.written[:0]
	if s.cluster != "" {
		o.labels = append(o.labels, ClusterLabel, s.cluster)
	}
	o.labels = append(o.labels, labels...)
	for i := 0; i < len(o.labels); i += 2 {
		if s.format == protobuf {
			o.written = appendPair(o.written, o.labels[i], o.labels[i+1])
		} else {
			o.written = appendLabel(o.written, o.labels[i], o.labels[i+1])
		}
	}
}

// sample adds a series of the object, whose other labels have these values. A counter carries the time at which it was 0.
func (s *scrape) sample(m *Metric, value float64, labels ...string) {
	if s.registry != nil {
		s.registry <- s.constant(m, value, labels)
		return
	}
	names := m.Labels[len(m.Labels)-len(labels):]
	f := &s.families[m.place]
	if s.format == protobuf {
		f.written = s.appendMetric(f.written, m, value, names, labels)
	} else {
		f.written = s.appendLine(f.written, m.Name, value, names, labels)
	}
}

// constant is a series for a registry.
func (s *scrape) constant(m *Metric, value float64, labels []string) prometheus.Metric {
	var values []string
	for i := 1; i < len(s.object.labels); i += 2 {
		values = append(values, s.object.labels[i])
	}
	values = slices.Concat(values, labels)
	var series prometheus.Metric
	var err error
	switch {
	case m.family == dto.MetricType_GAUGE:
		series, err = prometheus.NewConstMetric(m.desc, prometheus.GaugeValue, value, values...)
	case s.object.created.IsZero():
		series, err = prometheus.NewConstMetric(m.desc, prometheus.CounterValue, value, values...)
	default:
		series, err = prometheus.NewConstMetricWithCreatedTimestamp(m.desc, prometheus.CounterValue, value, s.object.created, values...)
	}
	if err != nil {
		return prometheus.NewInvalidMetric(m.desc, err)
	}
	return series
}

// histogram adds the series of a histogram.
func (s *scrape) histogram(m *Metric, of *prometheus.HistogramVec) error {
	if s.registry != nil {
		of.Collect(s.registry)
		return nil
	}
	ch := make(chan prometheus.Metric)
	go func() {
		of.Collect(ch)
		close(ch)
	}()
	var failed error
	f := &s.families[m.place]
	for series := range ch {
		x := &dto.Metric{}
		if err := series.Write(x); err != nil && failed == nil {
			failed = err
		}
		if s.cluster != "" {
			x.Label = append(x.Label, &dto.LabelPair{Name: new(ClusterLabel), Value: new(s.cluster)})
		}
		f.histograms = append(f.histograms, x)
	}
	return failed
}
