package metrics

import "github.com/prometheus/client_golang/prometheus"

// logLinesDropped declares a process metric. It has no cluster label.
func logLinesDropped() *Metric {
	return counter("kubeflap_log_lines_dropped_total",
		"Log lines that were dropped because the log output was too slow.", "always").experimental()
}

// NewLogLines returns the counter of dropped log lines, for the process registry.
func NewLogLines(dropped func() float64) prometheus.Collector {
	m := logLinesDropped()
	return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, dropped)
}
