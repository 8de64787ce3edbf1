package main

import (
	"fmt"
	"io"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
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
	r := newReplay(recordings, 0, trackerSettings(), newSilentReporter)
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := program{ctx: t.Context(), log: newLogQueue(io.Discard, func(int) {}), out: io.Discard}
	// All events have been applied, so that only printing is measured.
	if n := testing.AllocsPerRun(1, func() { _ = r.printFinal(p) }); n > services {
		t.Errorf("%.0f allocations for %d Services", n, services)
	}
}

// TestTheCoverageOfAFastReplayFollowsItsEvents replays at full speed, which ends before any timer or reader updates the
// coverage. The coverage must still begin with the first lists and contain the gap of a broken watch.
func TestTheCoverageOfAFastReplayFollowsItsEvents(t *testing.T) {
	at := func(second int, kind, what string) string {
		return fmt.Sprintf(`{"seen":"2026-03-01T12:%02d:%02dZ","kind":%q,"type":%q}`+"\n", second/60, second%60, kind, what)
	}
	text := `{"kubeflap":"recording","version":2}` + "\n"
	kinds := []string{"nodes", "leases", "pods", "services", "endpointslices", "endpoints"}
	for i, kind := range kinds {
		text += at(i, kind, "listing") + at(i+1, kind, "synced")
	}
	text += at(600, "pods", "down") + at(660, "pods", "listing") + at(660, "pods", "synced") + at(1200, "pods", "bookmark")
	recordings, err := openRecordings(period{}, write(t, filepath.Join(t.TempDir(), "gap.jsonl"), text))
	if err != nil {
		t.Fatal(err)
	}
	r := newReplay(recordings, 0, trackerSettings(), newSilentReporter)
	if err := r.play(t.Context()); err != nil {
		t.Fatal(err)
	}
	covered := r.pipelines[0].cluster("").Read().Coverage
	zero := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	if !covered.Since.Equal(zero.Add(6 * time.Second)) {
		t.Errorf("watched since %v, want since the end of the first lists", covered.Since)
	}
	if len(covered.Gaps) != 1 || !covered.Gaps[0].From.Equal(zero.Add(10*time.Minute)) || !covered.Gaps[0].To.Equal(zero.Add(11*time.Minute)) {
		t.Errorf("gaps: %+v, want one of pods from 12:10 to 12:11", covered.Gaps)
	}
}
