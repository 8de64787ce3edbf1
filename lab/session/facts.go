package session

import (
	"compress/gzip"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/kubeflap/kubeflap/lab/compare"
	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/truth"
)

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

// facts holds the recorder's facts for the file at path. If path is empty, it holds none.
type facts struct {
	path     string
	scenario *scenario.Scenario
	all      []truth.Fact
	segments []Segment
}

// endSegment keeps the facts up to a quiet point.
func (f *facts) endSegment(recorder *truth.Recorder, until time.Time) error {
	found, err := recorder.Facts(until)
	if err != nil {
		return err
	}
	for i := range found {
		if x := &found[i]; x.Kind == truth.FactAddress && x.From == "ready" {
			x.Cause, _ = f.scenario.CauseOfLoss(x.Object)
		}
	}
	f.all = append(f.all, found...)
	f.segments = append(f.segments, Segment{recorder.Began(), until})
	return nil
}

// endFirstSegment waits until nothing changes, and keeps the facts up to this time.
func (f *facts) endFirstSegment(ctx context.Context, c compare.Comparison) error {
	if f.path == "" {
		return nil
	}
	until, err := c.WaitUntilQuiet(ctx)
	if err != nil {
		return err
	}
	return f.endSegment(c.Truth, until)
}

// write ends the last segment, and writes the facts of all segments to the file.
func (f *facts) write(recorder *truth.Recorder, until time.Time) (err error) {
	if f.path == "" {
		return nil
	}
	if err := f.endSegment(recorder, until); err != nil {
		return err
	}
	file, err := os.Create(f.path)
	if err != nil {
		return fmt.Errorf("write the facts: %w", err)
	}
	zip := gzip.NewWriter(file)
	return errors.Join(f.encode(zip), zip.Close(), file.Close())
}

func (f *facts) encode(to io.Writer) error {
	lines := json.NewEncoder(to)
	header := FactsHeader{Scenario: f.scenario.Name, Release: string(f.scenario.Options.Release), Segments: f.segments}
	header.Incidents, header.Only = expectedIncidents(f.scenario)
	if err := lines.Encode(header); err != nil {
		return fmt.Errorf("write the facts: %w", err)
	}
	for i := range f.all {
		if err := lines.Encode(&f.all[i]); err != nil {
			return fmt.Errorf("write the facts: %w", err)
		}
	}
	return nil
}

func expectedIncidents(s *scenario.Scenario) (all []ExpectedIncident, only bool) {
	for _, x := range s.Reports {
		all = append(all, ExpectedIncident{Scope: x.Scope, Verdict: x.Verdict, Cause: x.Cause, Subject: x.Subject})
	}
	return all, s.Reports != nil && !s.Repeats
}
