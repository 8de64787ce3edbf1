package truth

import (
	"fmt"
	"slices"
	"strings"
)

// Counts maps each series to its value. The key of a series is its name and sorted labels in Prometheus' notation:
// `name{a="1",b="2"}`.
type Counts map[string]float64

// Series returns the key of a series in Counts. The parameter labels contains pairs of name and value.
func Series(name string, labels ...string) string {
	if len(labels) == 0 {
		return name
	}
	var pairs []string
	for i := 0; i < len(labels); i += 2 {
		pairs = append(pairs, fmt.Sprintf("%s=%q", labels[i], labels[i+1]))
	}
	slices.Sort(pairs)
	return name + "{" + strings.Join(pairs, ",") + "}"
}

// Name returns the metric name of a series.
func Name(series string) string {
	name, _, _ := strings.Cut(series, "{")
	return name
}

// Sum returns the sum of all series of a metric that have all of the given labels.
func (c Counts) Sum(name string, labels ...string) float64 {
	var sum float64
	for series, value := range c {
		if Name(series) == name && hasLabels(series, labels) {
			sum += value
		}
	}
	return sum
}

func hasLabels(series string, labels []string) bool {
	for i := 0; i < len(labels); i += 2 {
		pair := fmt.Sprintf("%s=%q", labels[i], labels[i+1])
		if !strings.Contains(series, "{"+pair) && !strings.Contains(series, ","+pair) {
			return false
		}
	}
	return true
}

func (c Counts) set(value float64, name string, labels ...string) {
	c[Series(name, labels...)] = value
}
