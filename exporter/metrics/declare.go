// Package metrics declares all metrics of kubeflap and writes /metrics. Other packages compute the values.
//
// It writes gauges and counters without client_golang's registry and expfmt, because a registry allocates hundreds of
// bytes for each series. A scrape of 1,000 nodes and 2,000 Services in the text format takes 7 ms and allocates 60 kB.
package metrics

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Stability is the stability level of a metric. A stable metric keeps its name, labels and meaning within a major
// version.
type Stability string

// The stability levels.
const (
	Stable       Stability = "stable"
	Experimental Stability = "experimental"
)

// Metric is the declaration of one metric.
type Metric struct {
	Name      string
	Type      dto.MetricType
	Labels    []string
	Help      string
	Stability Stability
	// Series describes which objects have a series, and when.
	Series string
}

const (
	perNodeClass      = "per Node and class"
	perNode           = "per Node"
	perService        = "per Service"
	perServiceClass   = "per Service and class"
	perResource       = "per watched resource"
	perWatch          = "per resource that is or must be watched. Absent for resources that the cluster lacks. With --namespace, also absent for Nodes and Leases that are not permitted"
	perPodNamespace   = "per namespace with pods"
	whileLeasesKnown  = "per Node, unless Leases are forbidden"
	ifManuallyManaged = "per Service that has or had manually managed addresses"
	always            = "always"
	onceKnown         = "once known"
	perVerdict        = "per scope and verdict that an incident can have"
)

func gauge(name, help, series string, labels ...string) *Metric {
	return &Metric{name, dto.MetricType_GAUGE, labels, help, Stable, series}
}

func counter(name, help, series string, labels ...string) *Metric {
	return &Metric{name, dto.MetricType_COUNTER, labels, help, Stable, series}
}

func histogram(name, help, series string, labels ...string) *Metric {
	return &Metric{name, dto.MetricType_HISTOGRAM, labels, help, Stable, series}
}

func (m *Metric) experimental() *Metric {
	m.Stability = Experimental
	return m
}

// vec returns a histogram for the declared metric, with native and classic buckets.
func (m *Metric) vec(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Name, Help: m.Help, Buckets: buckets,
		NativeHistogramBucketFactor: 1.1,
		// Durations below 1 ms share one bucket. Smaller buckets would be meaningless, because events within 40 ms of
		// each other may be batched. They would also add many empty rows to a heatmap.
		NativeHistogramZeroThreshold:    0.001,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, m.Labels)
}
