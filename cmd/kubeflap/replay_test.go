package main

import (
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// crowd writes a recording of a cluster with many Services of a few bytes each.
func crowd(t *testing.T, services int) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(`{"kubeflap":"recording","version":1}` + "\n")
	begin := `{"seen":"2026-03-01T12:00:00Z","kind":`
	for _, kind := range []string{"nodes", "leases", "pods", "services", "endpointslices", "endpoints"} {
		text.WriteString(begin + `"` + kind + `","type":"listing"}` + "\n")
		for i := range services {
			if kind == "services" {
				text.WriteString(begin + `"services","type":"listed","object":{"namespace":"n","name":"s` + strconv.Itoa(i) + `"}}` + "\n")
			}
		}
		text.WriteString(begin + `"` + kind + `","type":"synced"}` + "\n")
	}
	return write(t, filepath.Join(t.TempDir(), "crowd.jsonl"), text.String())
}

// The final metrics are written as they are read: a small recording can have many series.
func TestTheFinalMetricsAreNotGatheredBeforeTheyAreWritten(t *testing.T) {
	const services = 2000
	recordings, err := openRecordings([]string{crowd(t, services)})
	if err != nil {
		t.Fatal(err)
	}
	r := newReplay(recordings, 0, trackerSettings(), silent)
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := program{ctx: t.Context(), log: newLogQueue(io.Discard, func(int) {}), out: io.Discard}
	// All events are applied; only the metrics are left to print.
	if n := testing.AllocsPerRun(1, func() { _ = r.printFinal(p) }); n > services {
		t.Errorf("%.0f allocations for %d Services", n, services)
	}
	families, err := gather(r.pipelines[0])
	if err != nil {
		t.Fatal(err)
	}
	series := 0
	for _, family := range families {
		series += len(family.Metric)
	}
	if series > 2*services {
		t.Errorf("advice is read from %d series of %d Services", series, services)
	}
}
