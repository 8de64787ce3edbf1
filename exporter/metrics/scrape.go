package metrics

import (
	"bufio"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// scrape takes in the series of one metric, object by object, and writes them as they are sent: a large cluster has
// a hundred thousand series, and what lies between the tracker and the bytes would be made for each of them. The objects are gone
// through once for each of their metrics, since a format has all series of one together. Nothing is checked or
// sorted: the declarations are.
type scrape struct {
	encoding encoding
	// metric is the place of the one whose series are taken in; those of others are left out.
	metric int
	// written is what describes it, and its series, as far as they are not sent; begun: it has one.
	written []byte
	begun   bool
	// out gathers what is sent: the network and gzip get large pieces.
	out *bufio.Writer
	// registry gets the series of all metrics instead, if there is one.
	registry chan<- prometheus.Metric

	// cluster is the name of the one that is read, empty if there is but one.
	cluster string
	object  object
	// labels are the objects' first labels as they are sent, one after the other, and ends where they end: all metrics of
	// a part go through the same objects, so they are written for the first one. turn is the object's place among them.
	labels []byte
	ends   []int
	turn   int
	// scratch is memory for a message.
	scratch []byte
}

// object is what has series: the time at which its counters were 0, and its first labels.
type object struct {
	created time.Time
	// written are the labels as they are sent.
	written []byte
	// labels are they by name and value in turn, for a registry.
	labels []string
}

// about begins an object: labels are the first ones of its metrics, by name and value in turn.
func (s *scrape) about(created time.Time, labels ...string) {
	s.object.created = created
	if s.registry != nil {
		s.object.labels = append(s.object.labels[:0], labels...)
		return
	}
	if s.turn == len(s.ends) {
		s.writeLabels(labels)
	}
	begin := 0
	if s.turn > 0 {
		begin = s.ends[s.turn-1]
	}
	s.object.written = s.labels[begin:s.ends[s.turn]]
	s.turn++
}

// writeLabels writes the first labels of the next object.
func (s *scrape) writeLabels(labels []string) {
	if s.cluster != "" {
		s.writeLabel(ClusterLabel, s.cluster)
	}
	for i := 0; i < len(labels); i += 2 {
		s.writeLabel(labels[i], labels[i+1])
	}
	s.ends = append(s.ends, len(s.labels))
}

func (s *scrape) writeLabel(name, value string) {
	if s.encoding == protobuf {
		s.labels = appendPair(s.labels, name, value)
	} else {
		s.labels = appendLabel(s.labels, name, value)
	}
}

// part begins the metrics of other objects.
func (s *scrape) part() { s.labels, s.ends = s.labels[:0], s.ends[:0] }

// everyMetric is the place of all metrics, for a registry.
const everyMetric = -1

// sample adds a series of the object, whose other labels have these values. A counter carries the time at which it was 0.
// Most are not of the metric that is taken in; that is told without a call.
func (s *scrape) sample(m *Metric, value float64, labels ...string) {
	if s.metric == m.place || s.metric == everyMetric {
		s.take(m, value, labels)
	}
}

func (s *scrape) take(m *Metric, value float64, labels []string) {
	if s.registry != nil {
		s.registry <- s.constant(m, value, labels)
	} else {
		s.write(m, value, labels)
	}
}

func (s *scrape) write(m *Metric, value float64, labels []string) {
	s.begun = true
	names := m.Labels[len(m.Labels)-len(labels):]
	if s.encoding == protobuf {
		s.writeMessage(m, value, names, labels)
		return
	}
	s.writeLine(m.Name, value, names, labels)
	if len(s.written) >= piece {
		_, _ = s.out.Write(s.written) // an error stays
		s.written = s.written[:0]
	}
}

// begin begins a metric, of which there may be no series.
func (s *scrape) begin(m *Metric, head []byte) {
	s.metric, s.written, s.begun, s.turn = m.place, append(s.written[:0], head...), false, 0
}

// end sends what is left of a metric. That of a message is all, since its length is sent first.
func (s *scrape) end() error {
	if !s.begun {
		return nil
	}
	if s.encoding == protobuf {
		s.scratch = protowire.AppendVarint(s.scratch[:0], uint64(len(s.written)))
		_, _ = s.out.Write(s.scratch) // an error stays
	}
	_, err := s.out.Write(s.written)
	return err
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
