package main

import (
	"io"
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/metrics"
)

// TestRegistryHasTheMetricsOfTheProcess checks the process metrics that dashboards and rules use.
func TestRegistryHasTheMetricsOfTheProcess(t *testing.T) {
	families, err := newRegistry("").Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_virtual_memory_max_bytes",
		"process_open_fds", "process_max_fds", "process_start_time_seconds", "go_goroutines", "kubeflap_build_info",
	} {
		if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name }) {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestEachReplayedClusterHasTheMetricsOfTheProcess checks that rules can join the process metrics with a cluster's
// metrics by the cluster label and the target labels.
func TestEachReplayedClusterHasTheMetricsOfTheProcess(t *testing.T) {
	recordings, err := openIncidents()
	if err != nil {
		t.Fatal(err)
	}
	r := newDemo(recordings, 0, "http://localhost:9969", "kubeflap", io.Discard)
	families, err := newRegistry(r.names()...).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"process_start_time_seconds", "process_resident_memory_bytes", "kubeflap_build_info", "go_goroutines"} {
		var clusters []string
		for _, f := range families {
			if f.GetName() != name {
				continue
			}
			for _, m := range f.Metric {
				for _, l := range m.Label {
					if l.GetName() == metrics.ClusterLabel {
						clusters = append(clusters, l.GetValue())
					}
				}
			}
		}
		slices.Sort(clusters)
		if want := r.names(); !slices.Equal(clusters, want) {
			t.Errorf("%s has the clusters %q, want %q", name, clusters, want)
		}
	}
}
