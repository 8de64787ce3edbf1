package main

import (
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

const (
	factsSuffix     = ".facts.jsonl.gz"
	recordingSuffix = ".jsonl.gz"
)

// TestLabRecordings replays the recordings of the lab's scenarios. The changes, their causes and times, the counters
// and the incidents must agree with the facts of the lab's recorder, which counted the same cluster independently.
func TestLabRecordings(t *testing.T) {
	for _, file := range labFiles(t, factsSuffix) {
		name := strings.TrimSuffix(filepath.Base(file), factsSuffix)
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := readFacts(t, file)
			clock := recording.NewClock(0)
			run := newFactRun(t, x, clock.Now)
			play(t, strings.TrimSuffix(file, factsSuffix)+recordingSuffix, clock, run.apply)
			run.check()
		})
	}
}

// play replays a recording without waiting.
func play(t *testing.T, file string, clock *recording.Clock, apply func(event.Event)) {
	t.Helper()
	recorded, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer recorded.Close()
	if err := recording.Play(t.Context(), recorded.Events(), clock, apply); err != nil {
		t.Fatal(err)
	}
}

// labFiles returns the files of the lab with a suffix. There must be some.
func labFiles(t *testing.T, suffix string) []string {
	t.Helper()
	files, err := filepath.Glob("testdata/lab/*" + suffix)
	if err != nil || len(files) == 0 {
		t.Fatalf("testdata/lab has no files *%s (error %v)", suffix, err)
	}
	return files
}

// factRun is a pipeline whose results are compared with facts.
type factRun struct {
	t        *testing.T
	facts    *facts
	pipeline *pipeline
	reported *factReporter
	// mu allows concurrent calls of apply.
	mu sync.Mutex
	// synced holds the times at which lists were complete.
	synced []time.Time
}

func newFactRun(t *testing.T, x *facts, now func() time.Time) *factRun {
	r := &factRun{t: t, facts: x, reported: &factReporter{changes{}, counters{}}}
	settings := trackerSettings()
	settings.incidents = 100
	r.pipeline = newPipeline(settings, now, r.reported)
	return r
}

// apply passes an event to the pipeline. It drops events after the end of the last segment, because the facts end
// there.
func (r *factRun) apply(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last := r.facts.Segments[len(r.facts.Segments)-1]
	if e.Seen.After(last.Until) {
		return
	}
	r.pipeline.apply(e)
	if e.Type == event.Synced {
		// What the list revealed belongs to the gap before it.
		r.synced = append(r.synced, e.Seen)
	}
}

func (r *factRun) check() {
	r.t.Helper()
	r.pipeline.finish()
	for i := range r.facts.Segments {
		r.facts.compare(r.t, i, r.reported.all, r.begin(i))
		if i > 0 {
			r.facts.expectRemovals(r.t, i, r.reported.all, r.begin(i))
			r.facts.expectNothingInGap(r.t, i, r.reported.all, r.begin(i))
		}
	}
	r.reported.counted.expectCounters(r.t, r.pipeline)
	checkSentences(r.t, r.pipeline)
	all := allIncidents(r.pipeline)
	r.facts.expectIncidents(r.t, all)
	for i := 1; i < len(r.facts.Segments); i++ {
		r.facts.expectNoIncidentInGap(r.t, i, all, r.begin(i))
	}
}

// begin returns the time after the last list of a segment. Changes up to this time happened before the segment.
func (r *factRun) begin(segment int) time.Time {
	s := r.facts.Segments[segment]
	begin := s.From
	for _, t := range r.synced {
		if t.After(begin) && t.Before(s.Until) {
			begin = t
		}
	}
	return begin
}
