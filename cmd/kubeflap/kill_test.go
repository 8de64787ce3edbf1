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
	toldID  = regexp.MustCompile(`msg="incident (?:ongoing|pending|recovered).* id=([0-9a-f]+)`)
	address = regexp.MustCompile(`address=(127\.0\.0\.1:[0-9]+)`)
)

// reported adds the IDs of the incidents that the process has logged.
func (p *recordingProcess) reported(ids map[string]bool) {
	for _, line := range p.logged("incident") {
		if m := toldID.FindStringSubmatch(line); m != nil {
			ids[m[1]] = true
		}
	}
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
// restart, every incident that was logged before must exist exactly once, and all recordings must be readable.
func TestKill(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	rounds := 200
	if testing.Short() {
		rounds = 3
	}
	cluster, dir, began := churningCluster(t), t.TempDir(), time.Now()
	reported := map[string]bool{}
	// With few kills, it can take more of them until there is an incident.
	for round := 0; round <= rounds || round < 30 && len(reported) == 0; round++ {
		p := startRecording(t, cluster, dir, []string{"--data.size=64MiB", "--incidents.size=20000"})
		p.expectAll(round, reported)
		lasts := rand.IntN(2500)
		if round == 0 {
			lasts = 2500 // events are written once per second
		}
		time.Sleep(time.Duration(lasts) * time.Millisecond)
		p.kill()
		p.reported(reported)
		if t.Failed() {
			t.Fatalf("after %d kills and %d incidents; log:\n%s", round, len(reported), strings.Join(p.logged("level="), "\n"))
		}
	}
	expectReadable(t, dir)
	events, err := flightrecorder.Read(t.Context(), dir, began, time.Now())
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
	if len(reported) == 0 || n == 0 {
		t.Error("nothing happened")
	}
}
