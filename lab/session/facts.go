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

// endSegment keeps the facts up to a quiet point.
func (s *Session) endSegment(until time.Time) error {
	facts, err := s.Truth.Facts(until)
	if err != nil {
		return err
	}
	for i := range facts {
		if f := &facts[i]; f.Kind == truth.FactAddress && f.From == "ready" {
			f.Cause = s.scenario.CauseOfLoss(f.Object)
		}
	}
	s.facts = append(s.facts, facts...)
	s.segments = append(s.segments, Segment{s.Truth.Began(), until})
	return nil
}

// endFirstSegment waits until nothing changes, and keeps the facts up to this time.
func (s *Session) endFirstSegment(ctx context.Context) error {
	if s.options.Facts == "" {
		return nil
	}
	until, err := s.comparison().WaitUntilQuiet(ctx)
	if err != nil {
		return err
	}
	return s.endSegment(until)
}

// writeFacts writes the facts of all segments to the file of the option Facts.
func (s *Session) writeFacts(until time.Time) (err error) {
	if s.options.Facts == "" {
		return nil
	}
	if err := s.endSegment(until); err != nil {
		return err
	}
	file, err := os.Create(s.options.Facts)
	if err != nil {
		return fmt.Errorf("write the facts: %w", err)
	}
	zip := gzip.NewWriter(file)
	return errors.Join(s.encodeFacts(zip), zip.Close(), file.Close())
}

func (s *Session) encodeFacts(to io.Writer) error {
	lines := json.NewEncoder(to)
	header := FactsHeader{Scenario: s.scenario.Name, Release: string(s.scenario.Options.Release), Segments: s.segments}
	header.Incidents, header.Only = expectedIncidents(&s.scenario)
	if err := lines.Encode(header); err != nil {
		return fmt.Errorf("write the facts: %w", err)
	}
	for i := range s.facts {
		if err := lines.Encode(&s.facts[i]); err != nil {
			return fmt.Errorf("write the facts: %w", err)
		}
	}
	return nil
}

func expectedIncidents(s *scenario.Scenario) (all []ExpectedIncident, only bool) {
	for _, x := range s.Reports {
		all = append(all, ExpectedIncident{Scope: x.Scope, Verdict: x.Verdict, Subject: x.Subject})
	}
	if x := s.Incident; x != (scenario.Incident{}) {
		all = append(all, ExpectedIncident{Scope: x.Scope, Verdict: x.Verdict, Cause: x.Cause})
	}
	return all, s.Reports != nil || s.NoIncident
}
