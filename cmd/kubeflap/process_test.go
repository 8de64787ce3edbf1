package main

import (
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
)

// Names, types, help and what never changes are the library's.
func TestProcessIsToldAsByTheLibrary(t *testing.T) {
	library := familiesOf(t, collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	own := familiesOf(t, newProcess())
	for name, theirs := range library {
		if strings.HasPrefix(name, "process_network_") {
			if own[name] != nil {
				t.Errorf("%s is told: this is the library's own collector", name)
			}
			continue
		}
		ours := own[name]
		if ours == nil || ours.GetHelp() != theirs.GetHelp() || ours.GetType() != theirs.GetType() {
			t.Errorf("%s: %v, the library has %v", name, ours, theirs)
			continue
		}
		if fixed := strings.Contains(name, "max") || strings.Contains(name, "start"); fixed && valueOf(ours) != valueOf(theirs) {
			t.Errorf("%s: %v, the library has %v", name, valueOf(ours), valueOf(theirs))
		}
		// Of CPU time there may be none yet: it comes in ticks.
		if valueOf(ours) <= 0 && name != "process_cpu_seconds_total" {
			t.Errorf("%s: %v", name, valueOf(ours))
		}
	}
	if len(library) == 0 {
		t.Error("the library knows nothing of the process")
	}
}

func familiesOf(t *testing.T, c prometheus.Collector) map[string]*dto.MetricFamily {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	all, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	families := map[string]*dto.MetricFamily{}
	for _, f := range all {
		families[f.GetName()] = f
	}
	return families
}

func valueOf(f *dto.MetricFamily) float64 {
	return f.GetMetric()[0].GetCounter().GetValue() + f.GetMetric()[0].GetGauge().GetValue()
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
