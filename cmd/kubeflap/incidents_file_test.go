package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const lostNode = incidentsDir + "1-heartbeat-loss.jsonl.gz"

// TestIncidentsOfARecording checks that a recording is printed like the kubeflap instance that replayed it.
func TestIncidentsOfARecording(t *testing.T) {
	for name, args := range map[string][]string{
		"one.txt": {lostNode}, "full.txt": {lostNode, "d2218d71"}, "wide.txt": {lostNode, "-o=wide"},
		"one.json": {lostNode, "-o=json"}, "one.md": {lostNode, "-o=markdown"}, "several.md": {incidentsDir + "4-endpoints-reset.jsonl.gz", "-o=markdown"},
		"stall.md": {incidentsDir + "2-control-plane-stall.jsonl.gz", "d47a", "-o=markdown"},
	} {
		golden(t, "testdata/incidents/"+name, must(t, append([]string{"incidents"}, args...)...))
	}
}

// replayed serves a recording like kubeflap replay. It returns the API document after the end of the recording.
func replayed(t *testing.T, file string, between period) string {
	t.Helper()
	recordings, err := openRecordings(between, file)
	if err != nil {
		t.Fatal(err)
	}
	p, found := listening()
	p.log = newLogQueue(io.Discard, func(int) {})
	settings := trackerSettings()
	settings.incidents = keptIncidents
	r, complete := newReplay(recordings, 1e6, settings, nil), make(chan struct{})
	untilTheEnd(t, func(ctx context.Context) error {
		p.ctx = ctx
		return r.serve(p, listenFlags(""), func(net.Addr) {}, func() { close(complete) })
	})
	address := <-found
	<-complete
	_, text, err := visitor{}.ask(t, http.MethodGet, "http://"+address+api.Path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestIncidentsOfARecordingAreWhatReplayServes compares the documents of files, of a directory and of a period.
func TestIncidentsOfARecordingAreWhatReplayServes(t *testing.T) {
	dir, from := recordedIn(t, lostNode), "2026-11-23T12:12:20Z"
	begin, err := api.ParseTime(from)
	if err != nil {
		t.Fatal(err)
	}
	check := func(file string, between period, args ...string) {
		t.Helper()
		status, got, log := kubeflap(t, append([]string{"incidents", "-o=json", file}, args...)...)
		if want := replayed(t, file, between); status != 0 || got != want {
			t.Errorf("%s %q: the document differs from that of replay at %s; status %d: %s", file, args, difference(got, want), status, log)
		}
		if file != story && !strings.Contains(got, `"verdict": `) {
			t.Errorf("%s %q: no incident", file, args)
		}
	}
	for _, file := range append(recorded(t), story, dir) {
		check(file, period{})
	}
	check(dir, period{from: begin}, "--from="+from)
}

// difference returns the first lines that differ.
func difference(got, want string) string {
	a, b := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return a[i] + ", want " + b[i]
		}
	}
	return "the end"
}

// TestIncidentsOfADamagedRecording uses a truncated recording, as left by a recorder that was killed, often because of
// the incident.
func TestIncidentsOfADamagedRecording(t *testing.T) {
	whole, err := os.ReadFile(lostNode)
	if err != nil {
		t.Fatal(err)
	}
	short := write(t, filepath.Join(t.TempDir(), "short.jsonl.gz"), string(whole[:len(whole)-400]))
	_, _, failure := kubeflap(t, "replay", "--once", "--log.level=error", short)
	for _, output := range []string{"table", "json", "markdown"} {
		status, out, errOut := kubeflap(t, "incidents", short, "--output", output)
		if status != 1 || errOut != failure || !strings.Contains(errOut, "short.jsonl.gz") {
			t.Errorf("%s: status %d, %q, want the error of replay, %q", output, status, errOut, failure)
		}
		if !strings.Contains(out, "d2218d71") || output == "json" && !json.Valid([]byte(out)) {
			t.Errorf("%s: the incident before the damage is missing:\n%s", output, out)
		}
	}
}

// TestIncidentsOfAPeriod checks that a running kubeflap lists only the incidents of a period.
func TestIncidentsOfAPeriod(t *testing.T) {
	url := serveIncidents(t, lostNode)
	for args, want := range map[string]bool{"--from=2026-11-23T12:12:40Z": true, "--from=2026-11-23T12:12:42Z": false, "--to=2026-11-23T12:12:10Z": false, "--to=2026-11-23T12:12:30Z": true} {
		out := must(t, "incidents", "--url", url, "-o=markdown", args)
		if strings.Contains(out, "d2218d71") != want || !strings.Contains(out, " 2026-11-23 12:12:") {
			t.Errorf("%s prints\n%s", args, out)
		}
	}
}
