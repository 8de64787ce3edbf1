package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
)

// fact is one change in the cluster, as the lab's recorder saw it. The recorder shares no code with kubeflap (see
// lab/truth, type Fact).
type fact struct {
	Seen                  time.Time
	Kind, Object, Address string
	From, To              string
	Seconds               float64
	Cause                 string
}

// facts is the content of a file that the lab wrote next to a recording (see lab/session, type FactsHeader).
type facts struct {
	Scenario, Release string
	Segments          []struct{ From, Until time.Time }
	Incidents         []struct{ Scope, Verdict, Cause, Subject string }
	Only              bool
	all               []fact
}

// openLines reads a file of JSON Lines that is compressed with gzip.
func openLines(t *testing.T, file string) *json.Decoder {
	t.Helper()
	return json.NewDecoder(bytes.NewReader(unzip(t, file)))
}

func readFacts(t *testing.T, file string) *facts {
	t.Helper()
	lines := openLines(t, file)
	x := &facts{}
	if err := lines.Decode(x); err != nil {
		t.Fatal(err)
	}
	for lines.More() {
		var one fact
		if err := lines.Decode(&one); err != nil {
			t.Fatal(err)
		}
		x.all = append(x.all, one)
	}
	return x
}

const (
	// receivedWithin is the largest difference between the times at which two watchers receive an event.
	receivedWithin = 2 * time.Second
	// absent is the state of an object that does not exist, and unknownBefore is the state before the first list.
	absent, unknownBefore = "absent", ""
)

func (x *facts) within(segment int, seen time.Time) bool {
	s := x.Segments[segment]
	return !seen.Before(s.From) && !seen.After(s.Until)
}

// isStart reports whether the fact describes the state at the start of a segment.
func (f *fact) isStart() bool {
	return f.From == unknownBefore && slices.Contains([]string{"node", "service", "address", "pod"}, f.Kind)
}

func reportFaults(t *testing.T, faults []string) {
	t.Helper()
	const most = 20
	slices.Sort(faults)
	for _, fault := range faults[:min(most, len(faults))] {
		t.Error(fault)
	}
	if len(faults) > most {
		t.Errorf("and %d more", len(faults)-most)
	}
}

// expectIncidents checks the incidents that the scenario expects.
func (x *facts) expectIncidents(t *testing.T, all []incident.Incident) {
	t.Helper()
	var texts []string
	matched := map[int]bool{}
	for i := range all {
		texts = append(texts, fmt.Sprintf("%s %s %s %s (%s)", all[i].Scope, all[i].Verdict, all[i].Cause, all[i].Subject, all[i].State))
	}
	for _, want := range x.Incidents {
		found := -1
		for j := range all {
			is := &all[j]
			if !matched[j] && string(is.Scope) == want.Scope && is.Verdict.String() == want.Verdict && is.State != incident.StatePending && is.Withdrawn == "" &&
				(want.Cause == "" || is.Cause.String() == want.Cause) && (want.Subject == "" || is.Subject == want.Subject) {
				found = j
				break
			}
		}
		if found < 0 {
			t.Errorf("no incident %+v among:\n\t%s", want, strings.Join(texts, "\n\t"))
		}
		matched[found] = true
	}
	if x.Only && len(all) != len(matched) {
		t.Errorf("got %d incidents, want %d:\n\t%s", len(all), len(matched), strings.Join(texts, "\n\t"))
	}
}
