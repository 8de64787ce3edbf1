package session

import (
	"compress/gzip"
	"encoding/json"
	"os"
	"time"

	"github.com/kubeflap/kubeflap/lab/scenario"
	"github.com/kubeflap/kubeflap/lab/steps"
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

// facts holds the recorder's facts of all segments so far.
type facts struct {
	all      []truth.Fact
	segments []Segment
}

// endSegment keeps the recorder's facts up to a quiet point of the scenario.
func (f *facts) endSegment(recorded *truth.Recorder, of *scenario.Scenario, until time.Time) {
	found := steps.Value(recorded.Facts(until))
	for i := range found {
		if x := &found[i]; x.Kind == truth.FactAddress && x.From == "ready" {
			x.Cause, _ = of.CauseOfLoss(x.Object)
		}
	}
	f.all = append(f.all, found...)
	f.segments = append(f.segments, Segment{recorded.Began(), until})
}

// writeFacts writes the facts of all segments to the file.
func (s *Session) writeFacts() {
	file := steps.Value(os.Create(s.options.Facts))
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
