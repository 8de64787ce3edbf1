package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/types/known/timestamppb"
)

// maxLabels is the most labels that a metric has.
const maxLabels = 5

// series is one series as of one scrape. There are some 15 for each Service, so
// it is made with less ado than prometheus.NewConstMetric: the label names were checked and sorted
// when the metric was declared.
type series struct {
	metric  *Metric
	value   float64
	created time.Time
	labels  [maxLabels]string
}

// Desc implements prometheus.Metric.
func (s *series) Desc() *prometheus.Desc { return s.metric.desc }

// Write implements prometheus.Metric.
func (s *series) Write(out *dto.Metric) error {
	pairs := make([]dto.LabelPair, len(s.metric.sorted))
	out.Label = make([]*dto.LabelPair, len(pairs))
	for i, place := range s.metric.sorted {
		pairs[i].Name, pairs[i].Value = &s.metric.Labels[place], &s.labels[place]
		out.Label[i] = &pairs[i]
	}
	if s.metric.kind == prometheus.GaugeValue {
		out.Gauge = &dto.Gauge{Value: &s.value}
		return nil
	}
	out.Counter = &dto.Counter{Value: &s.value}
	if !s.created.IsZero() {
		out.Counter.CreatedTimestamp = timestamppb.New(s.created)
	}
	return nil
}
