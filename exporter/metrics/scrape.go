package metrics

import (
	"bufio"
	"fmt"
	"time"

	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protowire"
)

// Scrape is a copy of all metrics at one point in time. It encodes the series of one metric at a time, because all
// formats group series by metric. A cluster can have a hundred thousand series, so encoding a series must not allocate
// memory. A scrape neither validates nor sorts series, because the declarations are valid and the tracker's order is
// stable.
type Scrape struct {
	page *Page
	// snapshots holds one snapshot per cluster.
	snapshots []snapshot
	// others is the list of metrics that expfmt writes: the histograms and the process metrics.
	others []*dto.MetricFamily

	encoding encoding
	// metric is the current metric.
	metric *Metric
	// buffer holds the part of the metric that is not written yet. hasSeries is set once the metric has a series.
	buffer    []byte
	hasSeries bool
	// out collects the output into large writes.
	out *bufio.Writer

	// cluster is the value of ClusterLabel. It is empty if the page has only one cluster.
	cluster string
	// object is the encoded labels of the object whose samples follow, such as a node or a Service. created is the start
	// time of the object's counters. It is zero if the time is unknown.
	object  []byte
	created time.Time
	// labels holds the encoded labels of the kind's objects, one after another. The labels of object i end at ends[i].
	// next is the index of the next object. The labels are encoded only for the first metric of a kind, because all
	// metrics of a kind have the same objects in the same order.
	kind   string
	labels []byte
	ends   []int
	next   int
	// scratch is reused memory for a protobuf message.
	scratch []byte
}

// writeSeries writes gauges and counters, metric by metric.
func (s *Scrape) writeSeries() error {
	s.kind = "" // the labels may be of another format
	for i, m := range s.page.clusters[0].rows {
		if m.collect == nil {
			continue
		}
		s.metric, s.buffer, s.hasSeries = m.Metric, append(s.buffer[:0], s.page.heads[i][s.encoding]...), false
		s.next = 0
		for j, c := range s.page.clusters {
			s.cluster = c.name
			c.rows[i].collect(s, &s.snapshots[j])
		}
		if err := s.endMetric(); err != nil {
			return fmt.Errorf("write %s: %w", m.Name, err)
		}
	}
	return nil
}

// startKind starts the objects of a kind.
func (s *Scrape) startKind(name string) {
	if s.kind != name {
		s.kind, s.labels, s.ends = name, s.labels[:0], s.ends[:0]
	}
}

// startObject starts the samples of an object. The values are those of the metric's first labels, which identify the
// object.
func (s *Scrape) startObject(created time.Time, values ...string) {
	s.created = created
	if s.next == len(s.ends) {
		s.encodeLabels(values)
	}
	begin := 0
	if s.next > 0 {
		begin = s.ends[s.next-1]
	}
	s.object = s.labels[begin:s.ends[s.next]]
	s.next++
}

func (s *Scrape) encodeLabels(values []string) {
	if s.cluster != "" {
		s.labels = s.appendLabel(s.labels, ClusterLabel, s.cluster)
	}
	for i, value := range values {
		s.labels = s.appendLabel(s.labels, s.metric.Labels[i], value)
	}
	s.ends = append(s.ends, len(s.labels))
}

func (s *Scrape) appendLabel(b []byte, name, value string) []byte {
	if s.encoding == protobuf {
		return appendPair(b, name, value)
	}
	return appendLabel(b, name, value)
}

// sampleIf adds a series if it has a value.
func (s *Scrape) sampleIf(has bool, value float64, labels ...string) {
	if has {
		s.sample(value, labels...)
	}
}

// sample adds a series of the current object. labels holds the values of the labels that do not identify the object.
func (s *Scrape) sample(value float64, labels ...string) {
	s.hasSeries = true
	names := s.metric.Labels[len(s.metric.Labels)-len(labels):]
	if s.encoding == protobuf {
		// A series is a field of the MetricFamily.
		s.scratch = append(s.scratch[:0], s.object...)
		for i, label := range labels {
			s.scratch = appendPair(s.scratch, names[i], label)
		}
		s.scratch = appendValue(s.scratch, s.metric.Type, value, s.created)
		s.buffer = appendBytes(s.buffer, familyMetric, s.scratch)
		return
	}
	b := s.buffer
	b = append(b, s.metric.Name...)
	if len(s.object)+len(labels) > 0 {
		b = append(b, '{')
		b = append(b, s.object...)
		for i, label := range labels {
			b = appendLabel(b, names[i], label)
		}
		b[len(b)-1] = '}' // this replaces the last comma
	}
	b = append(b, ' ')
	if s.buffer = append(appendNumber(b, value, s.encoding == openMetrics), '\n'); len(s.buffer) >= piece {
		_, _ = s.out.Write(s.buffer) // bufio.Writer returns the error later
		s.buffer = s.buffer[:0]
	}
}

// endMetric writes the rest of a metric, or nothing if it has no series. A protobuf message is written as a whole, after
// its length.
func (s *Scrape) endMetric() error {
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
