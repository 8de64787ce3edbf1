package main

import (
	"slices"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// Dashboards and rules read these metrics of the process.
func TestRegistryHasTheMetricsOfTheProcess(t *testing.T) {
	families, err := newRegistry(nothingDropped).Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"process_cpu_seconds_total", "process_resident_memory_bytes", "process_virtual_memory_bytes", "process_virtual_memory_max_bytes",
		"process_open_fds", "process_max_fds", "process_start_time_seconds", "go_goroutines", "kubeflap_build_info", "kubeflap_log_lines_dropped_total",
	} {
		if !slices.ContainsFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == name }) {
			t.Errorf("%s is missing", name)
		}
	}
}

func BenchmarkProcess(b *testing.B) {
	registry := newRegistry(nothingDropped)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := registry.Gather(); err != nil {
			b.Fatal(err)
		}
	}
}
