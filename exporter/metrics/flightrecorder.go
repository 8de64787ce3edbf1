package metrics

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
)

// recorderMetrics declares the flight recorder's metrics. They belong to the process and have no cluster label.
func recorderMetrics() Catalogue {
	const series = "one, if kubeflap runs with `--data.dir`"
	return Catalogue{
		gauge("kubeflap_flight_recorder_recording",
			"1 while events are written to --data.dir, 0 while writing fails.", series).experimental(),
		gauge("kubeflap_flight_recorder_size_bytes",
			"Size of the recordings in --data.dir.", series).experimental(),
		gauge("kubeflap_flight_recorder_oldest_event_timestamp_seconds",
			"Unix time of the oldest event in --data.dir, 0 if there is none.", series).experimental(),
		counter("kubeflap_flight_recorder_events_lost_total",
			"Events that were not recorded because the disk failed or was too slow.", series).experimental(),
		counter("kubeflap_flight_recorder_gaps_total",
			"Periods in which events were not recorded because the disk failed or was too slow.", series).experimental(),
	}
}

// NewFlightRecorder returns a collector of the flight recorder's metrics, for the process registry.
func NewFlightRecorder(status func() flightrecorder.Status) prometheus.Collector {
	c := recorderCollector{status: status}
	for i, m := range recorderMetrics() {
		c.descriptions[i] = prometheus.NewDesc(m.Name, m.Help, nil, nil)
	}
	return c
}

type recorderCollector struct {
	status       func() flightrecorder.Status
	descriptions [5]*prometheus.Desc
}

// Describe implements prometheus.Collector.
func (c recorderCollector) Describe(ch chan<- *prometheus.Desc) {
	for _, d := range c.descriptions {
		ch <- d
	}
}

// Collect implements prometheus.Collector.
func (c recorderCollector) Collect(ch chan<- prometheus.Metric) {
	s := c.status()
	oldest := 0.0
	if !s.Oldest.IsZero() {
		oldest = seconds(s.Oldest)
	}
	send := func(i int, kind prometheus.ValueType, value float64) {
		ch <- prometheus.MustNewConstMetric(c.descriptions[i], kind, value)
	}
	send(0, prometheus.GaugeValue, boolean(s.Recording))
	send(1, prometheus.GaugeValue, float64(s.Bytes))
	send(2, prometheus.GaugeValue, oldest)
	send(3, prometheus.CounterValue, float64(s.Lost))
	send(4, prometheus.CounterValue, float64(s.Gaps))
}
