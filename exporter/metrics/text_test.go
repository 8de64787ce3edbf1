package metrics

import (
	"bytes"
	"math"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
)

// What is written is what the library would write, to the byte.
func TestWriteText(t *testing.T) {
	families := oddFamilies(t)
	for _, accepted := range []string{"text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0", "application/openmetrics-text;version=0.0.1", ""} {
		format := expfmt.NegotiateAccept(map[string][]string{"Accept": {accepted}}, expfmt.DefaultOpenMetricsAcceptedFormats()...)
		t.Run(string(format), func(t *testing.T) {
			var got, want bytes.Buffer
			if err := WriteText(&got, format, families); err != nil {
				t.Fatal(err)
			}
			library := expfmt.NewEncoder(&want, format)
			for _, f := range families {
				if err := library.Encode(f); err != nil {
					t.Fatal(err)
				}
			}
			if closer, ok := library.(expfmt.Closer); ok {
				if err := closer.Close(); err != nil {
					t.Fatal(err)
				}
			}
			if got.String() != want.String() {
				t.Errorf("got\n%s\nwant\n%s", got.String(), want.String())
			}
		})
	}
}

// oddFamilies hold all that is hard to write, and what a cluster has.
func oddFamilies(t *testing.T) []*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "a", Help: `of "a" \ and` + "\nmore"}, []string{"x", "y"})
	for i, value := range []float64{0, 1, -1, 0.1, 1e21, 1e-9, 1234567, -0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64} {
		gauge.WithLabelValues(string(rune('a'+i)), "a\\b\"c\nd\u202e").Set(value)
	}
	counter := prometheus.NewCounter(prometheus.CounterOpts{Name: "b_total", Help: "b"})
	counter.Add(3)
	exemplary := prometheus.NewCounter(prometheus.CounterOpts{Name: "b2_total", Help: "b2"})
	exemplary.(prometheus.ExemplarAdder).AddWithExemplar(3, prometheus.Labels{"trace": "x"})
	odd := prometheus.NewCounter(prometheus.CounterOpts{Name: "b3", Help: "without the suffix"})
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "c", Help: "c", Buckets: []float64{1, 2}, NativeHistogramBucketFactor: 1.1})
	histogram.Observe(1.5)
	summary := prometheus.NewSummary(prometheus.SummaryOpts{Name: "d", Help: "d", Objectives: map[float64]float64{0.5: 0.1}})
	summary.Observe(1)
	registry.MustRegister(gauge, counter, exemplary, odd, histogram, summary)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	c := played(t, "testdata/story.jsonl")
	all, done, err := c.Gather()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(done)
	return append(families, all...)
}
