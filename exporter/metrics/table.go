package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
)

// row is a metric and its series. The rows are in the order of docs/metrics.md.
type row struct {
	*Metric
	// collect adds the series of a gauge or a counter to a scrape.
	collect func(*Scrape, *snapshot)
	// series holds the series of a histogram.
	series *prometheus.HistogramVec
}

// kind is a kind of object, such as nodes. All metrics of a kind have the same objects in the same order.
type kind[T any] struct {
	// name differs from the names of the other kinds.
	name string
	// all returns the objects, and start starts the samples of one.
	all   func(*snapshot) []T
	start func(*Scrape, *T)
}

// row returns the row of a metric of these objects. The function add adds the samples of one object.
func (k kind[T]) row(m *Metric, add func(*Scrape, *T)) row {
	return row{Metric: m, collect: func(to *Scrape, now *snapshot) { k.each(to, now, add) }}
}

func (k kind[T]) each(to *Scrape, now *snapshot, add func(*Scrape, *T)) {
	to.startKind(k.name)
	all := k.all(now)
	for i := range all {
		k.start(to, &all[i])
		add(to, &all[i])
	}
}

// single returns the row of a metric of the whole cluster.
func single(m *Metric, add func(*Scrape, *snapshot)) row {
	return row{Metric: m, collect: func(to *Scrape, now *snapshot) {
		to.startKind("cluster")
		to.startObject(time.Time{})
		add(to, now)
	}}
}

// observed returns the row of a histogram. It always has series with these values of its label.
func observed(m *Metric, buckets []float64, values ...string) row {
	series := m.vec(buckets)
	if len(m.Labels) == 0 {
		series.WithLabelValues()
	}
	for _, value := range values {
		series.WithLabelValues(value)
	}
	return row{Metric: m, series: series}
}
