package main

import (
	"errors"
	"math/rand/v2"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

var (
	toldIncident = regexp.MustCompile(`msg="incident (?:ongoing|pending|recovered).* id=([0-9a-f]+) .* start=(\S+) `)
	address      = regexp.MustCompile(`address=(127\.0\.0\.1:[0-9]+)`)
)

// reported adds the IDs of the incidents that the process has logged, if their first events are on the disk: events are
// written once per second, and a busy machine can write them later than the log.
func (p *recordingProcess) reported(ids map[string]bool) {
	p.t.Helper()
	last := lastRecorded(p.t, p.dir)
	for _, line := range p.logged("incident") {
		m := toldIncident.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		start, err := time.Parse(time.RFC3339Nano, m[2])
		if err != nil {
			p.t.Fatal(err)
		}
		if !start.After(last) {
			ids[m[1]] = true
		}
	}
}

// lastRecorded returns the time of the last event that is on the disk.
func lastRecorded(t *testing.T, dir string) (last time.Time) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil {
		t.Fatal(err)
	}
	for i := len(files) - 1; i >= 0 && last.IsZero(); i-- {
		r, err := recording.Open(files[i])
		if err != nil {
			continue // nothing is on the disk yet
		}
		for e, err := range r.Events() {
			if err == nil && e.Seen.After(last) { // the last line can be incomplete
				last = e.Seen
			}
		}
		r.Close()
	}
	return last
}

// expectReadable checks that each file of the flight recorder can be read, except for an incomplete last line. Files
// without any complete line may exist.
func expectReadable(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl.gz"))
	if err != nil || len(files) == 0 {
		t.Fatalf("%d recordings: %v", len(files), err)
	}
	short := 0
	for _, file := range files {
		r, err := recording.Open(file)
		if err == nil {
			for _, readErr := range r.Events() {
				err = readErr
			}
			r.Close()
		}
		switch {
		case err == nil:
		case errors.Is(err, recording.ErrCutShort), errors.Is(err, recording.ErrEmpty):
			short++
		default:
			t.Errorf("%s is not readable: %v", file, err)
		}
	}
	t.Logf("%d recordings, %d of them end in the middle of a line", len(files), short)
}

// expectAll checks that each incident that was reported before a restart exists once.
func (p *recordingProcess) expectAll(round int, reported map[string]bool) {
	p.t.Helper()
	count := map[string]int{}
	for _, x := range p.incidents().Incidents {
		for _, id := range append(slices.Clone(x.Also), x.ID) {
			if count[id]++; count[id] == 2 {
				p.t.Errorf("round %d: incident %s is there twice", round, id)
			}
		}
	}
	for id := range reported {
		if count[id] == 0 {
			p.t.Errorf("round %d: incident %s was reported and is gone", round, id)
		}
	}
}

// TestKill kills a process at random moments under churn: 200 times, or three times with -short. After each
// restart, every incident that was logged and recorded before must exist exactly once, and all recordings must be readable.
func TestKill(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	rounds := 200
	if testing.Short() {
		rounds = 3
	}
	cluster, dir, began := churningCluster(t), t.TempDir(), time.Now()
	reported := map[string]bool{}
	for round := range rounds + 1 {
		p := startRecording(t, cluster, dir, []string{"--data.size=64MiB", "--incidents.size=20000"})
		p.expectAll(round, reported)
		if round == 0 {
			p.until("an incident is reported and recorded", func() bool { p.reported(reported); return len(reported) > 0 })
		}
		time.Sleep(time.Duration(rand.IntN(2500)) * time.Millisecond)
		p.kill()
		p.reported(reported)
		if t.Failed() {
			t.Fatalf("after %d kills and %d incidents; log:\n%s", round, len(reported), strings.Join(p.logged("level="), "\n"))
		}
	}
	expectReadable(t, dir)
	events, err := flightrecorder.Read(dir, began, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, err := range events {
		if err != nil {
			t.Fatalf("after %d events: %v", n, err)
		}
		n++
	}
	t.Logf("%d kills: %d incidents reported, %d events recorded", rounds, len(reported), n)
}
