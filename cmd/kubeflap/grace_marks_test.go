package main

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

// graceMark is a silence in the lab, and whether the controller manager marked the node as Unknown.
type graceMark struct {
	Grace, Monitor, Node string
	From, To             time.Time
	Unknown              bool
}

func readGraceMarks(t *testing.T) (all []graceMark) {
	t.Helper()
	for lines := openLines(t, "testdata/grace/grace-marks.jsonl.gz"); lines.More(); {
		var x graceMark
		if err := lines.Decode(&x); err != nil {
			t.Fatal(err)
		}
		all = append(all, x)
	}
	return all
}

// TestGraceMarks replays the recordings of four controller managers. kubeflap must report that a node turned Unknown for
// exactly those silences that the lab's own watch saw.
func TestGraceMarks(t *testing.T) {
	const silences, settings = 24, 4
	byFile := map[string][]graceMark{}
	for _, x := range readGraceMarks(t) {
		file := "testdata/grace/grace-" + x.Grace + "-" + x.Monitor + ".jsonl.gz"
		byFile[file] = append(byFile[file], x)
	}
	if len(byFile) != settings {
		t.Fatalf("got marks of %d controller managers, want %d", len(byFile), settings)
	}
	for file, marks := range byFile {
		if len(marks) != silences {
			t.Errorf("%s: got %d silences, want %d", file, len(marks), silences)
		}
		recorded, err := recording.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		clock, reported := recording.NewClock(0), &factReporter{changes{}}
		p := newPipeline(trackerSettings(), clock.Now, reported)
		if err := recording.Play(t.Context(), recorded.Events(), clock, p.apply); err != nil {
			t.Fatal(err)
		}
		p.finish()
		if err := recorded.Close(); err != nil {
			t.Error(err)
		}
		for _, x := range marks {
			if marked := reported.marked(x); marked != x.Unknown {
				t.Errorf("%s: %s from %s to %s turned Unknown: %t, want %t", file, x.Node, x.From, x.To, marked, x.Unknown)
			}
		}
	}
}

// marked reports whether the node turned Unknown during a silence. The API server may write the mark a little later.
func (r *factReporter) marked(x graceMark) bool {
	for _, one := range r.all["node "+x.Node] {
		if one.what == "true to unknown" && one.seen.After(x.From) && one.seen.Before(x.To.Add(receivedWithin)) {
			return true
		}
	}
	return false
}
