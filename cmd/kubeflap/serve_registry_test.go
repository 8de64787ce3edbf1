package main

import (
	"slices"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/metrics"
)

// TestRegistryHasTheMetricsOfTheProcess checks the process metrics that dashboards and rules use. Each replayed cluster has
// them, so that rules can join them with a cluster's metrics by the cluster label and the target labels.
func TestRegistryHasTheMetricsOfTheProcess(t *testing.T) {
	for _, clusters := range [][]string{{""}, {"one", "two"}} {
		registry := prometheus.NewRegistry()
		for _, cluster := range clusters {
			registerProcess(registry, cluster)
		}
		families, err := registry.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{
			"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_virtual_memory_max_bytes",
			"process_open_fds", "process_max_fds", "process_start_time_seconds", "go_goroutines", "kubeflap_build_info",
		} {
			i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name })
			if i < 0 {
				t.Errorf("%s is missing", name)
				continue
			}
			var found []string
			for _, m := range families[i].Metric {
				at := slices.IndexFunc(m.Label, func(l *dto.LabelPair) bool { return l.GetName() == metrics.ClusterLabel })
				if at < 0 {
					found = append(found, "")
				} else {
					found = append(found, m.Label[at].GetValue())
				}
			}
			if slices.Sort(found); !slices.Equal(found, clusters) {
				t.Errorf("%s has the clusters %q, want %q", name, found, clusters)
			}
		}
	}
}
