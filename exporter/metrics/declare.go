// Package metrics declares every metric of kubeflap once and reads its values
// out of the tracker at each scrape. It decides nothing.
package metrics

import (
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// Stability says how much a metric may change: a stable one keeps its name,
// labels and meaning within a major version.
type Stability string

// The stabilities.
const (
	Stable       Stability = "stable"
	Experimental Stability = "experimental"
)

// Metric is the declaration of one metric.
type Metric struct {
	Name      string
	Type      string
	Labels    []string
	Help      string
	Stability Stability
	// Series says for what there is a series, and when.
	Series string

	desc   *prometheus.Desc
	family dto.MetricType
	// place is the metric's among all, in the order of their names.
	place int
}

// Catalogue is all metrics, in the order of the reference.
type Catalogue []*Metric

// place gives each metric its place.
func (c Catalogue) place() {
	byName := slices.Clone(c)
	slices.SortFunc(byName, func(a, b *Metric) int { return strings.Compare(a.Name, b.Name) })
	for i, m := range byName {
		m.place = i
	}
}

const (
	perNode        = "each Node"
	perService     = "each Service"
	perResource    = "each watched resource"
	perNamespace   = "each namespace with pods, and for an hour after its last"
	whileTold      = "each Node while Leases can be watched; of a new one it counts from when it is seen"
	withByHand     = "each Service that has or had hand-written addresses"
	always         = "always"
	onceKnown      = "once it is known"
	ofUnavailables = "each resource that cannot be watched"
)

func gauge(name, help, series string, labels ...string) *Metric {
	return declare(Metric{Name: name, Type: "gauge", Help: help, Series: series, Labels: labels, family: dto.MetricType_GAUGE})
}

func counter(name, help, series string, labels ...string) *Metric {
	return declare(Metric{Name: name, Type: "counter", Help: help, Series: series, Labels: labels, family: dto.MetricType_COUNTER})
}

func histogram(name, help, series string, labels ...string) *Metric {
	return declare(Metric{Name: name, Type: "histogram", Help: help, Series: series, Labels: labels, family: dto.MetricType_HISTOGRAM})
}

func declare(m Metric) *Metric {
	m.Stability = Stable
	m.desc = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	return &m
}

// experimental marks a metric that is not in the contract.
func (m *Metric) experimental() *Metric {
	m.Stability = Experimental
	return m
}

// vec makes a histogram of a declaration, native and classic.
func (m *Metric) vec(buckets []float64) *prometheus.HistogramVec {
	return prometheus.NewHistogramVec(prometheus.HistogramOpts{
		Name: m.Name, Help: m.Help, Buckets: buckets,
		NativeHistogramBucketFactor:     1.1,
		NativeHistogramMaxBucketNumber:  100,
		NativeHistogramMinResetDuration: time.Hour,
	}, m.Labels)
}
