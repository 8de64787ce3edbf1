package metrics

import "github.com/prometheus/client_golang/prometheus"

// logLinesDropped is a metric of the process, not of a cluster.
func logLinesDropped() *Metric {
	return counter("kubeflap_log_lines_dropped_total",
		"Log lines that were dropped because the reader of the log did not keep up.", "the process").experimental()
}

// NewLogLines returns the counter of dropped log lines, for the registry of the process.
func NewLogLines(dropped func() float64) prometheus.Collector {
	m := logLinesDropped()
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, dropped)
}
