package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	dto "github.com/prometheus/client_model/go"
)

// texts returns a line for each incident.
func (r *restarted) texts() (all []string) {
	for _, x := range r.incidents() {
		all = append(all, described(x)+" | "+x.Summary)
	}
	return all
}

// TestALongGap restarts kubeflap after more than ten minutes. It must show that its incidents were interrupted, and begin
// anew with what the lists show. A later process that replays the recordings, with their hole, must show the same.
func TestALongGap(t *testing.T) {
	r := newRestarted(t, told(t, "start 9; 0 service single 5; 300 silent 5 until 5000; 350 unready web/3 until 900"))
	r.runUntil(400)
	r.restart(1100)
	r.runUntil(1200)
	shown := r.texts()
	if len(shown) != 2 || !strings.Contains(shown[0], "node-5 sent no heartbeat for 15m08s (grace period 40s) and was Unknown when kubeflap started; no Service") ||
		!strings.Contains(shown[1], "its end is unknown") || r.incidents()[1].End.Sub(storyBegin) > seconds(400) {
		t.Errorf("got %q", shown)
	}
	if got, want := r.notices(), "started node-5 node, started Deployment/web workload, started node-5 node"; got != want {
		t.Errorf("reported %s, want %s", got, want)
	}
	r.restart(1200.5)
	if got := r.texts(); !slices.Equal(got, shown) {
		t.Errorf("after another restart: %q, want %q", got, shown)
	}
}

// TestWhatHasEndedIsSaved restarts kubeflap with a recording that begins after its incidents. The incidents of the file must
// be as they were, with their revised verdicts, even if the process that saw them was killed before it wrote the file.
func TestWhatHasEndedIsSaved(t *testing.T) {
	for name, written := range map[string]bool{"written": true, "killed": false} {
		t.Run(name, func(t *testing.T) {
			r := newRestarted(t, told(t, "start 9; repeat 4 every 400;     300 silent $i until 355"))
			r.runUntil(2600)
			want := r.texts()
			if !written {
				r.kill()
				if err := os.Remove(filepath.Join(r.dir, "incidents.jsonl")); err != nil {
					t.Fatal(err)
				}
				r.restart(2603)
				r.runUntil(2620)
			}
			r.beginSegment()
			r.runUntil(2640)
			r.restart(2645)
			r.runUntil(2660)
			if got := r.texts(); len(want) != 4 || !strings.Contains(want[3], "shared_path") || !slices.Equal(got, want) {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
			}
			for _, x := range r.incidents() {
				if n := r.ends(x.ID); n != 1 {
					t.Errorf("the end of %s was reported %d times", x.ID, n)
				}
			}
		})
	}
}

// TestTheFileKnowsTheBeginning restarts kubeflap with a recording that begins during an incident that has ended since.
func TestTheFileKnowsTheBeginning(t *testing.T) {
	r := newRestarted(t, told(t, "start 9; 300 silent 5 until 900"))
	r.runUntil(600)
	r.beginSegment()
	r.runUntil(1300)
	want := r.only()
	r.restart(1303)
	r.runUntil(1320)
	if got := r.only(); got.Summary != want.Summary || len(got.Evidence) != len(want.Evidence) {
		t.Errorf("got %s %v\nwant %s %v", got.Summary, got.Evidence, want.Summary, want.Evidence)
	}
}

// TestCountersBeginAtZero restarts kubeflap when all incidents have ended. No counter must contain what they counted.
func TestCountersBeginAtZero(t *testing.T) {
	r := newRestarted(t, told(t, "start 9; 0 service single 5; 300 silent 5 until 600; 400 unready web/1 until 450; 700 break pods until 720: timeout"))
	r.runUntil(1500)
	r.kill()
	r.begin()
	families, err := r.pipeline.collector.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range families {
		for _, m := range family.Metric {
			if n := valueOf(m); n > 0 && family.GetType() != dto.MetricType_GAUGE {
				t.Errorf("%s%v is %g", family.GetName(), m.Label, n)
			}
		}
	}
}
