package metrics

import "github.com/prometheus/client_golang/prometheus"

// logLinesDropped is declared beside the others, but is of the process and not of a cluster.
func logLinesDropped() *Metric {
	return counter("kubeflap_log_lines_dropped_total",
		"Lines of the log that were dropped because whoever reads it did not keep up.", "the process").experimental()
}

// NewLogLines is the metric of dropped lines of the log, for the process's registry.
func NewLogLines(dropped func() float64) prometheus.Collector {
	m := logLinesDropped()
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, dropped)
}
