package metrics

import (
	"cmp"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"

	"github.com/kubeflap/kubeflap/exporter/flap"
)

// scrape is what one scrape shows: the families with their series, and before that what was copied
// out of the fold. A large cluster has a hundred thousand series, so they lie in arenas
// that the next scrape uses again, and are not sorted or checked: the declarations are.
type scrape struct {
	nodes      []flap.Node
	services   []flap.Service
	namespaces []flap.Namespace
	watches    []flap.Watch
	tenants    []flap.Tenant
	wrong      []flap.Misreported

	// families are in the order of their names; a metric knows its place.
	families []*dto.MetricFamily
	// shown are those that have series.
	shown []*dto.MetricFamily

	metrics  arena[dto.Metric]
	gauges   arena[dto.Gauge]
	counters arena[dto.Counter]
	values   arena[float64]
	texts    arena[string]
	pairs    arena[dto.LabelPair]
	labels   arena[*dto.LabelPair]
	times    arena[timestamppb.Timestamp]
	// created is the last time that was asked for: the series of one object have the same.
	created   time.Time
	timestamp *timestamppb.Timestamp
}

// arena hands out pieces of large blocks, all of which reset takes back.
type arena[T any] struct {
	blocks [][]T
	// block and used say where the free part begins.
	block, used int
}

const blockSize = 4096

// take gives n values one after the other; what an earlier scrape left in them is still there.
func (a *arena[T]) take(n int) []T {
	if a.used+n > blockSize {
		a.block, a.used = a.block+1, 0
	}
	if a.block == len(a.blocks) {
		a.blocks = append(a.blocks, make([]T, blockSize))
	}
	taken := a.blocks[a.block][a.used : a.used+n : a.used+n]
	a.used += n
	return taken
}

func (a *arena[T]) reset() { a.block, a.used = 0, 0 }

// newScrape makes the families of a catalogue, whose metrics have their places.
func newScrape(all Catalogue) *scrape {
	s := &scrape{families: make([]*dto.MetricFamily, len(all))}
	for _, m := range all {
		s.families[m.place] = &dto.MetricFamily{Name: &m.Name, Help: &m.Help, Type: m.family.Enum()}
	}
	return s
}

// sort brings nodes and Services into the order of the exposition.
func (s *scrape) sort() {
	slices.SortFunc(s.nodes, func(x, y flap.Node) int { return cmp.Compare(x.Name, y.Name) })
	slices.SortFunc(s.services, func(x, y flap.Service) int {
		return cmp.Or(cmp.Compare(x.Namespace, y.Namespace), cmp.Compare(x.Name, y.Name))
	})
}

// reset forgets the scrape before.
func (s *scrape) reset() {
	s.nodes, s.services, s.namespaces = s.nodes[:0], s.services[:0], s.namespaces[:0]
	s.watches, s.tenants, s.wrong = s.watches[:0], s.tenants[:0], s.wrong[:0]
	for _, f := range s.families {
		f.Metric = f.Metric[:0]
	}
	s.shown = s.shown[:0]
	s.metrics.reset()
	s.gauges.reset()
	s.counters.reset()
	s.values.reset()
	s.texts.reset()
	s.pairs.reset()
	s.labels.reset()
	s.times.reset()
	s.created, s.timestamp = time.Time{}, nil
}

// sample adds a series. A counter carries the time at which it was 0.
func (s *scrape) sample(m *Metric, value float64, created time.Time, labels ...string) {
	x := &s.metrics.take(1)[0]
	v := &s.values.take(1)[0]
	*v = value
	x.Label = s.pairsOf(m, labels)
	if m.family == dto.MetricType_GAUGE {
		x.Gauge, x.Counter = &s.gauges.take(1)[0], nil
		x.Gauge.Value = v
	} else {
		x.Counter, x.Gauge = &s.counters.take(1)[0], nil
		x.Counter.Value, x.Counter.CreatedTimestamp = v, s.timestampOf(created)
	}
	s.families[m.place].Metric = append(s.families[m.place].Metric, x)
}

// pairsOf gives the labels in the order of their names.
func (s *scrape) pairsOf(m *Metric, values []string) []*dto.LabelPair {
	texts, pairs, labels := s.texts.take(len(values)), s.pairs.take(len(values)), s.labels.take(len(values))
	for i, place := range m.sorted {
		texts[i] = values[place]
		pairs[i].Name, pairs[i].Value = &m.Labels[place], &texts[i]
		labels[i] = &pairs[i]
	}
	return labels
}

func (s *scrape) timestampOf(t time.Time) *timestamppb.Timestamp {
	switch {
	case t.IsZero():
		return nil
	case !t.Equal(s.created) || s.timestamp == nil:
		s.created, s.timestamp = t, &s.times.take(1)[0]
		s.timestamp.Seconds, s.timestamp.Nanos = t.Unix(), int32(t.Nanosecond())
	}
	return s.timestamp
}

// histogram adds the series of a histogram.
func (s *scrape) histogram(m *Metric, of *prometheus.HistogramVec) error {
	ch := make(chan prometheus.Metric)
	go func() {
		of.Collect(ch)
		close(ch)
	}()
	var failed error
	for series := range ch {
		x := &dto.Metric{}
		if err := series.Write(x); err != nil && failed == nil {
			failed = err
		}
		s.families[m.place].Metric = append(s.families[m.place].Metric, x)
	}
	return failed
}

// show gives the families that have series.
func (s *scrape) show() []*dto.MetricFamily {
	for _, f := range s.families {
		if len(f.Metric) > 0 {
			s.shown = append(s.shown, f)
		}
	}
	return s.shown
}
