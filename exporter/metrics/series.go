package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// series is a series of a scrape, for a registry.
type series struct {
	desc *prometheus.Desc
	of   *dto.Metric
}

// Desc implements prometheus.Metric.
func (s series) Desc() *prometheus.Desc { return s.desc }

// Write implements prometheus.Metric.
func (s series) Write(out *dto.Metric) error {
	out.Label, out.Gauge, out.Counter, out.Histogram = s.of.Label, s.of.Gauge, s.of.Counter, s.of.Histogram
	return nil
}
