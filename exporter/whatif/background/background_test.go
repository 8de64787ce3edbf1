package background_test

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/whatif/background"
)

// The recording of the lost node has events from 12:11:57 to 12:12:42.
var (
	start = time.Date(2026, 11, 23, 12, 12, 10, 0, time.UTC)
	end   = start.Add(25 * time.Second)
	later = end.Add(time.Hour)
)

// directory returns a directory in which a flight recorder kept the recording of the lost node.
func directory(t *testing.T) (dir string) {
	t.Helper()
	dir = t.TempDir()
	record(t, dir, 0, false)
	return dir
}

// record lets a flight recorder keep the recording of the lost node, later by a duration.
func record(t *testing.T, dir string, later time.Duration, anonymise bool) {
	t.Helper()
	r, err := flightrecorder.New(flightrecorder.Settings{
		Dir: dir, Size: 1 << 30, Age: time.Hour, Anonymise: anonymise,
		List: func(context.Context, event.Kind, func(event.Object)) (string, error) {
			return "", errors.New("not needed")
		},
	}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	reader, err := recording.Open("../../recording/incidents/1-heartbeat-loss.jsonl.gz")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for ev, err := range reader.Events() {
		if err != nil {
			t.Fatal(err)
		}
		ev.Seen = ev.Seen.Add(later)
		r.Record(ev)
	}
	ended, stop := context.WithCancel(t.Context())
	stop() // it writes what waits
	if err := r.Run(ended); err != nil {
		t.Fatal(err)
	}
}

// running returns a Predictor that runs until the test ends.
func running(t *testing.T, dir string) *background.Predictor {
	t.Helper()
	p := background.New(dir, 0)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { done <- p.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
	return p
}

// settled repeats the request until the prediction is computed.
func settled(t *testing.T, p *background.Predictor, id string, start, end, now time.Time) background.Prediction {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(5 * time.Millisecond) {
		given := p.For(id, start, end, now)
		if given.Answer != nil || !strings.Contains(given.Because, "computed") {
			return given
		}
		if time.Now().After(deadline) {
			t.Fatal(given.Because)
		}
	}
}

func TestPredictionForAnIncident(t *testing.T) {
	p := running(t, directory(t))
	if given := p.For("a", start, end, later); given.Answer != nil || given.Because != "it is being computed" {
		t.Errorf("the first request: %+v", given)
	}
	given := settled(t, p, "a", start, end, later)
	if given.Answer == nil {
		t.Fatal(given.Because)
	}
	var found []float64
	for _, row := range given.Answer.Settings {
		if found = append(found, row.GracePeriodSeconds); row.Recorded != (row.GracePeriodSeconds == 24) || row.Knee != (row.GracePeriodSeconds == 30) {
			t.Errorf("%+v", row)
		}
	}
	if len(found) != 8 || found[0] != 20 || found[1] != 24 || found[7] != 120 || given.Answer.Settings[0].NodesUnknown.AtLeast != 1 {
		t.Errorf("%v", found)
	}
	if again := p.For("a", start, end, later.Add(time.Hour)); again.Answer != given.Answer {
		t.Error("the prediction for an incident that is over was computed again")
	}
}

// TestOngoingIncident checks that the prediction for an ongoing incident is computed again after a minute, and that the
// old one is shown until then.
func TestOngoingIncident(t *testing.T) {
	p := running(t, directory(t))
	now := start.Add(20 * time.Second)
	first := settled(t, p, "a", start, time.Time{}, now)
	if first.Answer == nil || first.Answer.To.After(now) {
		t.Fatalf("%+v", first)
	}
	if again := p.For("a", start, time.Time{}, now.Add(30*time.Second)); again.Answer != first.Answer {
		t.Error("computed again after 30 s")
	}
	if again := p.For("a", start, time.Time{}, now.Add(61*time.Second)); again.Answer != first.Answer {
		t.Error("the old prediction is not shown while a new one is computed")
	}
	for deadline := time.Now().Add(3 * time.Minute); p.For("a", start, time.Time{}, now.Add(62*time.Second)).Answer == first.Answer; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("not computed again after 61 s")
		}
	}
}

func TestWithoutAPrediction(t *testing.T) {
	dir, renamed := directory(t), directory(t)
	record(t, renamed, time.Minute, true)
	for name, test := range map[string]struct {
		dir             string
		start, end, now time.Time
		want            string
	}{
		"it began before the recordings": {dir, start.Add(-time.Minute), end, later, "the recordings do not begin before 2026-11-23 12:11:57 UTC"},
		"it ended after the recordings":  {dir, start, start.Add(time.Minute), later, "the recordings end at 2026-11-23 12:12:42 UTC"},
		"long ago":                       {dir, start.Add(-48 * time.Hour), start.Add(-47 * time.Hour), later, "nothing was recorded in this period"},
		"a long one":                     {dir, start, start.Add(7 * time.Hour), start.Add(9 * time.Hour), "the incident lasted longer than 6 hours"},
		"no directory":                   {dir + "/none", start, end, later, "the recordings cannot be read: no such file or directory"},
		"the names change":               {renamed, start, end, later, "the names in the recordings change at 2026-11-23T12:12:57.384751Z, because --data.anonymise or the pseudonym key changed"},
	} {
		given := settled(t, running(t, test.dir), "a", test.start, test.end, test.now)
		if given.Answer != nil || !strings.Contains(given.Because, test.want) || strings.Contains(given.Because, dir) {
			t.Errorf("%s: %+v, want %q", name, given, test.want)
		}
	}
}

// TestManyRequests checks that requests never wait, even if nothing computes predictions, and that the number of kept
// predictions is limited.
func TestManyRequests(t *testing.T) {
	p := background.New(directory(t), 0)
	if given := p.For("a", start, end, later); given.Because != "it is being computed" {
		t.Errorf("%+v", given)
	}
	for i := range 1000 {
		if given := p.For(string(rune('b'+i)), start, end, later); given.Because != "predictions for other incidents are being computed; try again" {
			t.Fatalf("%d: %+v", i, given)
		}
	}
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- p.Run(ctx) }()
	for i := range 150 {
		if given := settled(t, p, string(rune('b'+i)), start, end, later); given.Answer == nil {
			t.Fatal(given.Because)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Error(err)
	}
	if given := p.For("b", start, end, later); given.Answer != nil {
		t.Error("the oldest of 150 predictions is still kept")
	}
}
