package metrics

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// Scrape is a copy of all metrics at one point in time. It makes the series of one metric at a time, because all formats
// group series by metric. A cluster can have a hundred thousand series, so a scrape reuses the memory of the series. It
// neither validates nor sorts series, because the declarations are valid and the tracker's order is stable.
type Scrape struct {
	page *Page
	// snapshots holds one snapshot per cluster.
	snapshots []snapshot
	// others is the list of metrics that the library makes: the histograms and the process metrics.
	others []*dto.MetricFamily
	// out collects the output into large writes.
	out *bufio.Writer

	// metric is the current metric, and family contains its series. reused holds the series of the longest metric so far.
	metric *Metric
	family dto.MetricFamily
	reused []*series
	// cluster is the value of ClusterLabel. It is empty if the page has only one cluster.
	cluster string
	// object holds the values of the labels that identify the object whose samples follow, such as a node or a Service.
	// created is the start time of the object's counters. It is zero if the time is unknown.
	object  []string
	created time.Time
}

// series is a series of a gauge or a counter, with the memory for its parts.
type series struct {
	dto.Metric
	pairs   []label
	value   float64
	gauge   dto.Gauge
	counter dto.Counter
	created timestamppb.Timestamp
}

// label is a label, with the memory for its value.
type label struct {
	dto.LabelPair
	value string
}

// Done releases the scrape's memory for the next scrape.
func (s *Scrape) Done() {
	s.others = nil
	s.out.Reset(nil)
	s.page.idle.Store(s)
}

// Write writes the metrics. The process metrics come last.
func (s *Scrape) Write(w io.Writer, format expfmt.Format) error {
	s.out.Reset(w)
	// All names are valid without escaping, so that the encoder need not look at each of them.
	to := expfmt.NewEncoder(s.out, format.WithEscapingScheme(model.NoEscaping))
	err := s.each(to.Encode)
	if closer, ok := to.(expfmt.Closer); ok && err == nil {
		err = closer.Close()
	}
	if err = cmp.Or(err, s.out.Flush()); err != nil {
		return fmt.Errorf("write the metrics: %w", err)
	}
	return nil
}

// each calls a function for each metric that has series, because no format allows others. The metric is valid until the
// function returns.
func (s *Scrape) each(do func(*dto.MetricFamily) error) (err error) {
	call := func(f *dto.MetricFamily) {
		if len(f.Metric) > 0 && err == nil {
			err = do(f)
		}
	}
	if len(s.page.clusters) > 0 {
		for i, m := range s.page.clusters[0].rows {
			if m.collect != nil {
				s.collect(i, m.Metric)
				call(&s.family)
			}
		}
	}
	for _, f := range s.others {
		call(f)
	}
	return err
}

// collect makes the series of the metric at an index, of all clusters.
func (s *Scrape) collect(i int, m *Metric) {
	s.metric = m
	s.family = dto.MetricFamily{Name: &m.Name, Help: &m.Help, Type: &m.Type, Metric: s.family.Metric[:0]}
	for j, c := range s.page.clusters {
		s.cluster = c.name
		c.rows[i].collect(s, &s.snapshots[j])
	}
}

// startObject starts the samples of an object. The values are those of the metric's first labels, which identify the
// object.
func (s *Scrape) startObject(created time.Time, values ...string) {
	s.created, s.object = created, append(s.object[:0], values...)
}

// sampleIf adds a series if it has a value.
func (s *Scrape) sampleIf(has bool, value float64, labels ...string) {
	if has {
		s.sample(value, labels...)
	}
}

// sample adds a series of the current object. labels holds the values of the labels that do not identify the object.
func (s *Scrape) sample(value float64, labels ...string) {
	n := len(s.family.Metric)
	if n == len(s.reused) {
		s.reused = append(s.reused, &series{})
	}
	x, names := s.reused[n], s.metric.Labels
	x.Label = x.Label[:0]
	if most := len(names) + 1; len(x.pairs) < most {
		x.pairs = make([]label, most)
	}
	if s.cluster != "" {
		x.add(&clusterLabel, s.cluster)
	}
	for i, value := range s.object {
		x.add(&names[i], value)
	}
	for i, value := range labels {
		x.add(&names[len(names)-len(labels)+i], value)
	}
	x.value = value
	if s.metric.Type == dto.MetricType_GAUGE {
		x.gauge.Value, x.Gauge, x.Counter = &x.value, &x.gauge, nil
	} else {
		x.counter.Value, x.counter.CreatedTimestamp, x.Gauge, x.Counter = &x.value, nil, nil, &x.counter
		if !s.created.IsZero() {
			x.created.Seconds, x.created.Nanos = s.created.Unix(), int32(s.created.Nanosecond())
			x.counter.CreatedTimestamp = &x.created
		}
	}
	s.family.Metric = append(s.family.Metric, &x.Metric)
}

// clusterLabel is ClusterLabel as a variable, because labels refer to their names.
var clusterLabel = ClusterLabel

// add adds a label.
func (x *series) add(name *string, value string) {
	pair := &x.pairs[len(x.Label)]
	pair.value = value
	pair.Name, pair.Value = name, &pair.value
	x.Label = append(x.Label, &pair.LabelPair)
}
