package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// recorderMetrics declares the metrics of the flight recorder. They belong to the process.
func recorderMetrics() (recording, lost *Metric) {
	const series = "one, if kubeflap runs with `--data.dir`"
	return gauge("kubeflap_recorder_recording",
			"1 while events are written to --data.dir, 0 while writing fails.", series),
		counter("kubeflap_recorder_events_lost_total",
			"Events that were not recorded because the disk failed or was too slow.", series)
}

// NewFlightRecorder returns a collector of the flight recorder's metrics, for the process registry.
func NewFlightRecorder(status func() flightrecorder.Status) prometheus.Collector {
	recording, lost := recorderMetrics()
	all := prometheus.NewRegistry()
	all.MustRegister(
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: recording.Name, Help: recording.Help}, func() float64 { return boolean(status().Recording) }),
		prometheus.NewCounterFunc(prometheus.CounterOpts{Name: lost.Name, Help: lost.Help}, func() float64 { return float64(status().Lost) }),
	)
	return all
}
