package main

import (
	"context"
	"io"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// crowd writes a small recording of a cluster with many Services.
func crowd(t *testing.T, services int) string {
	t.Helper()
	var text strings.Builder
	text.WriteString(`{"kubeflap":"recording","version":2}` + "\n")
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

// TestTheFinalMetricsAreNotGatheredBeforeTheyAreWritten checks that the final metrics are written without a list of all
// series, because even a small recording can contain many series.
func TestTheFinalMetricsAreNotGatheredBeforeTheyAreWritten(t *testing.T) {
	const services = 2000
	recordings, err := openRecordings(period{}, crowd(t, services))
	if err != nil {
		t.Fatal(err)
	}
	r := newReplay(recordings, 0, trackerSettings(), nil)
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := program{ctx: t.Context(), log: newLogQueue(io.Discard, func(int) {}), out: io.Discard}
	// All events have been applied, so that only printing is measured.
	if n := testing.AllocsPerRun(1, func() { _ = r.printFinal(p) }); n > services {
		t.Errorf("%.0f allocations for %d Services", n, services)
	}
}

// TestAnInterruptedReadIsAnError checks that what was read until then is not taken for the whole recording.
func TestAnInterruptedReadIsAnError(t *testing.T) {
	interrupted, cancel := context.WithCancel(t.Context())
	cancel()
	for _, args := range []string{"check --recording", "advise --recording", "incidents", "replay --once"} {
		command, err := newCommandLine(calledAs("kubeflap"), io.Discard, io.Discard).parse(append(strings.Fields(args), lostNode))
		if err != nil {
			t.Fatal(err)
		}
		var out strings.Builder
		log := newLogQueue(io.Discard, func(int) {})
		err = command(program{ctx: interrupted, logger: slog.New(slog.DiscardHandler), log: log, out: &out})
		if err == nil || !strings.Contains(err.Error(), "interrupted before the recording was read") {
			t.Errorf("%s: %v: %.200s", args, err, &out)
		}
		log.close()
	}
}
