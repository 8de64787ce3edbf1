package metrics

import (
	"bufio"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// A scrape encodes the series of one metric at a time, because all formats group series by metric. A cluster can have a
// hundred thousand series, so encoding a series must not allocate memory. A scrape neither validates nor sorts series,
// because the declarations are valid and the tracker's order is stable.
type scrape struct {
	encoding encoding
	// metric is the current metric.
	metric *Metric
	// buffer holds the part of the metric that is not written yet. hasSeries is set once the metric has a series.
	buffer    []byte
	hasSeries bool
	// out collects the output into large writes.
	out *bufio.Writer
	// If registry is not nil, series are sent to registry instead of out.
	registry chan<- prometheus.Metric

	// cluster is the value of ClusterLabel. It is empty if the page has only one cluster.
	cluster string
	object  object
	// labels holds the encoded labels of the kind's objects, one after another. The labels of object i end at ends[i].
	// next is the index of the next object. The labels are encoded only for the first metric of a kind, because all
	// metrics of a kind have the same objects in the same order.
	kind   string
	labels []byte
	ends   []int
	next   int
	// scratch is reused memory for a protobuf message, and whole for the labels of a metric of the whole cluster.
	scratch, whole []byte
}

// object is the object whose samples follow, such as a node or a Service.
type object struct {
	// created is the start time of the object's counters. It is zero if the time is unknown.
	created time.Time
	// encoded is the object's labels, encoded in the format of the scrape.
	encoded []byte
	// labels holds alternating names and values, for a registry.
	labels []string
}

// startMetric starts a metric. A metric without series is not written.
func (s *scrape) startMetric(m *Metric, head []byte) {
	s.metric, s.buffer, s.hasSeries, s.next = m, append(s.buffer[:0], head...), false, 0
}

// startKind starts the objects of a kind.
func (s *scrape) startKind(name string) {
	if s.kind != name {
		s.kind, s.labels, s.ends = name, s.labels[:0], s.ends[:0]
	}
}

// startCluster starts the samples of a metric of the whole cluster.
func (s *scrape) startCluster() {
	s.object.created, s.object.labels = time.Time{}, s.object.labels[:0]
	s.whole = s.whole[:0]
	if s.cluster != "" {
		s.whole = s.appendLabel(s.whole, ClusterLabel, s.cluster)
	}
	s.object.encoded = s.whole
}

// startObject starts the samples of an object. labels holds the labels that identify the object, as alternating names
// and values.
func (s *scrape) startObject(created time.Time, labels ...string) {
	s.object.created = created
	if s.registry != nil {
		s.object.labels = append(s.object.labels[:0], labels...)
		return
	}
	if s.next == len(s.ends) {
		s.encodeLabels(labels)
	}
	begin := 0
	if s.next > 0 {
		begin = s.ends[s.next-1]
	}
	s.object.encoded = s.labels[begin:s.ends[s.next]]
	s.next++
}

func (s *scrape) encodeLabels(labels []string) {
	if s.cluster != "" {
		s.labels = s.appendLabel(s.labels, ClusterLabel, s.cluster)
	}
	for i := 0; i < len(labels); i += 2 {
		s.labels = s.appendLabel(s.labels, labels[i], labels[i+1])
	}
	s.ends = append(s.ends, len(s.labels))
}

func (s *scrape) appendLabel(b []byte, name, value string) []byte {
	if s.encoding == protobuf {
		return appendPair(b, name, value)
	}
	return appendLabel(b, name, value)
}

// sample adds a series of the current object. labels holds the values of the labels that do not identify the object.
func (s *scrape) sample(value float64, labels ...string) {
	if s.registry != nil {
		s.registry <- s.constant(s.metric, value, labels)
		return
	}
	s.write(s.metric, value, labels)
}

// sampleIf adds a series if it has a value.
func (s *scrape) sampleIf(has bool, value float64, labels ...string) {
	if has {
		s.sample(value, labels...)
	}
}

func (s *scrape) write(m *Metric, value float64, labels []string) {
	s.hasSeries = true
	names := m.Labels[len(m.Labels)-len(labels):]
	if s.encoding == protobuf {
		s.writeMessage(m, value, names, labels)
		return
	}
	s.writeLine(m.Name, value, names, labels)
	if len(s.buffer) >= piece {
		_, _ = s.out.Write(s.buffer) // bufio.Writer returns the error later
		s.buffer = s.buffer[:0]
	}
}

// writeMessage encodes a series of the object as a field of the MetricFamily.
func (s *scrape) writeMessage(m *Metric, value float64, names, labels []string) {
	o := &s.object
	s.scratch = append(s.scratch[:0], o.encoded...)
	for i, label := range labels {
		s.scratch = appendPair(s.scratch, names[i], label)
	}
	s.scratch = appendValue(s.scratch, m.Type, value, o.created)
	s.buffer = appendSeries(s.buffer, s.scratch)
}

// writeLine encodes a series of the object as a line of text.
func (s *scrape) writeLine(name string, value float64, names, labels []string) {
	o := &s.object
	b := s.buffer
	b = append(b, name...)
	if len(o.encoded)+len(labels) > 0 {
		b = append(b, '{')
		b = append(b, o.encoded...)
		for i, label := range labels {
			b = appendLabel(b, names[i], label)
		}
		b[len(b)-1] = '}' // this replaces the last comma
	}
	b = append(b, ' ')
	s.buffer = append(appendNumber(b, value, s.encoding == openMetrics), '\n')
}

// endMetric writes the rest of a metric. A protobuf message is written as a whole, after its length.
func (s *scrape) endMetric() error {
	if !s.hasSeries {
		return nil
	}
	if s.encoding == protobuf {
		s.scratch = protowire.AppendVarint(s.scratch[:0], uint64(len(s.buffer)))
		_, _ = s.out.Write(s.scratch) // bufio.Writer returns the error later
	}
	_, err := s.out.Write(s.buffer)
	return err
}

// constant returns a series for a registry.
func (s *scrape) constant(m *Metric, value float64, labels []string) prometheus.Metric {
	var values []string
	for i := 1; i < len(s.object.labels); i += 2 {
		values = append(values, s.object.labels[i])
	}
	values = slices.Concat(values, labels)
	var series prometheus.Metric
	var err error
	switch {
	case m.Type == dto.MetricType_GAUGE:
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
