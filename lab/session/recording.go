package session

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
	"github.com/kubeflap/kubeflap/lab/truth"
)

// resources is the number of resources that a recording lists at its beginning.
const resources = 6

// startRecording starts a recording with the given kubeconfig, and waits until it contains all lists.
func (s *Session) startRecording(kubeconfig string) {
	file := s.options.Record + ".jsonl.gz"
	s.record = s.start("kubeflap-record", "record", file, "--title="+s.scenario.Summary, "--kubeconfig="+kubeconfig)
	s.Must(s.record.Until(s.Ctx, patience, "the recording to begin", func(context.Context) error {
		text, err := readRecording(file)
		if n := bytes.Count(text, []byte(`"type":"synced"`)); err == nil && n < resources {
			return fmt.Errorf("the recording contains %d of %d lists", n, resources)
		}
		return err
	}))
}

// readRecording reads a recording, even if it is still being written.
func readRecording(path string) ([]byte, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	unzip, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, fmt.Errorf("read the recording: %w", err)
	}
	text, err := io.ReadAll(unzip)
	if errors.Is(err, io.ErrUnexpectedEOF) { // the recording is still being written
		err = nil
	}
	return text, err
}

// endRecording ends the recording and the facts at a quiet point. The unit tests of kubeflap compare them
// (TestLabRecordings).
func (s *Session) endRecording() {
	if s.record == nil {
		return
	}
	until := s.comparison().WaitUntilQuiet(s.Ctx)
	ctx, cancel := context.WithTimeout(s.Ctx, patience)
	defer cancel()
	s.Must(s.record.Alive(), s.record.Terminate(ctx)) // gracefully, so that kubeflap writes all of the recording
	if s.raw != nil {
		s.Must(s.raw.End())
	}
	s.facts.endSegment(s.Truth, &s.scenario, until)
	s.writeFacts()
}

// FactsHeader is the first line of a file of facts. The other lines are the facts, in order.
type FactsHeader struct {
	Scenario string `json:"scenario"`
	Release  string `json:"release"`
	// Segments are the periods for which the facts are complete. A scenario that breaks watches has two.
	Segments []Segment `json:"segments"`
	// Incidents lists what kubeflap must report. If Only is set, kubeflap must report nothing else.
	Incidents []ExpectedIncident `json:"incidents,omitempty"`
	Only      bool               `json:"only,omitempty"`
}

// Segment is a period that begins and ends while no object changes, except for heartbeats.
type Segment struct {
	From time.Time `json:"from"`
	// Until is the quiet point: there was no change between Until and the end of the comparison.
	Until time.Time `json:"until"`
}

// ExpectedIncident is an incident that the scenario expects. An empty field is not compared.
type ExpectedIncident struct {
	Scope   string `json:"scope"`
	Verdict string `json:"verdict"`
	Cause   string `json:"cause,omitempty"`
	Subject string `json:"subject,omitempty"`
}

// facts holds the recorder's facts of all segments so far.
type facts struct {
	all      []truth.Fact
	segments []Segment
}

// endSegment keeps the recorder's facts up to a quiet point of the scenario.
func (f *facts) endSegment(recorded *truth.Recorder, of *scenario.Scenario, until time.Time) {
	found := recorded.Facts(until)
	for i := range found {
		if x := &found[i]; x.Kind == truth.FactAddress && x.From == "ready" {
			x.Cause, _ = of.CauseOfLoss(x.Object)
		}
	}
	f.all = append(f.all, found...)
	f.segments = append(f.segments, Segment{recorded.Began(), until})
}

// writeFacts writes the facts of all segments.
func (s *Session) writeFacts() {
	file := steps.Value(os.Create(s.options.Record + ".facts.jsonl.gz"))
	zip := gzip.NewWriter(file)
	lines := json.NewEncoder(zip)
	header := FactsHeader{
		Scenario: s.scenario.Name, Release: string(s.scenario.Options.Release), Segments: s.facts.segments,
		Only: s.scenario.Reports != nil && !s.scenario.Repeats,
	}
	for _, x := range s.scenario.Reports {
		header.Incidents = append(header.Incidents, ExpectedIncident{Scope: x.Scope, Verdict: x.Verdict, Cause: x.Cause, Subject: x.Subject})
	}
	s.Must(lines.Encode(header))
	for i := range s.facts.all {
		s.Must(lines.Encode(&s.facts.all[i]))
	}
	s.Must(zip.Close(), file.Close())
}
