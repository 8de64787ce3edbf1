package metrics

import (
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// logLinesDropped declares a metric of the process. Such a metric has no cluster label.
func logLinesDropped() *Metric {
	return counter("kubeflap_log_lines_dropped_total",
		"Log lines that were dropped because the log output was too slow.", "always").experimental()
}

// NewLogLines returns the counter of dropped log lines, for the process registry.
func NewLogLines(dropped func() float64) prometheus.Collector { return logLinesDropped().read(dropped) }

// recorderMetric is a metric of the flight recorder, which belongs to the process.
type recorderMetric struct {
	*Metric
	value func(flightrecorder.Status) float64
}

func recorderMetrics() []recorderMetric {
	const series = "one, if kubeflap runs with `--data.dir`"
	return []recorderMetric{
		{
			gauge("kubeflap_flight_recorder_recording",
				"1 while events are written to --data.dir, 0 while writing fails.", series).experimental(),
			func(s flightrecorder.Status) float64 { return boolean(s.Recording) },
		},
		{
			gauge("kubeflap_flight_recorder_size_bytes",
				"Size of the recordings in --data.dir.", series).experimental(),
			func(s flightrecorder.Status) float64 { return float64(s.Bytes) },
		},
		{
			gauge("kubeflap_flight_recorder_oldest_event_timestamp_seconds",
				"Unix time of the oldest event in --data.dir, 0 if there is none.", series).experimental(),
			func(s flightrecorder.Status) float64 {
				if s.Oldest.IsZero() {
					return 0
				}
				return seconds(s.Oldest)
			},
		},
		{
			counter("kubeflap_flight_recorder_events_lost_total",
				"Events that were not recorded because the disk failed or was too slow.", series).experimental(),
			func(s flightrecorder.Status) float64 { return float64(s.Lost) },
		},
		{
			counter("kubeflap_flight_recorder_gaps_total",
				"Periods in which events were not recorded because the disk failed or was too slow.", series).experimental(),
			func(s flightrecorder.Status) float64 { return float64(s.Gaps) },
		},
	}
}

// NewFlightRecorder returns a collector of the flight recorder's metrics, for the process registry.
func NewFlightRecorder(status func() flightrecorder.Status) prometheus.Collector {
	all := prometheus.NewRegistry()
	for _, m := range recorderMetrics() {
		all.MustRegister(m.read(func() float64 { return m.value(status()) }))
	}
	return all
}

// read returns a collector that calls a function for the metric's value.
func (m *Metric) read(value func() float64) prometheus.Collector {
	if m.Type == dto.MetricType_COUNTER {
		return prometheus.NewCounterFunc(prometheus.CounterOpts{Name: m.Name, Help: m.Help}, value)
	}
	return prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: m.Name, Help: m.Help}, value)
}
