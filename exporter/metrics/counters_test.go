package metrics

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// TestNoCounterEverGoesDown reads all counters every 100 ms, and every 10 ms after a watch fails or recovers.
// Prometheus treats a decreasing counter as a reset and adds its full value again.
func TestNoCounterEverGoesDown(t *testing.T) {
	recordings, err := filepath.Glob("../recording/incidents/*.jsonl.gz")
	if err != nil || len(recordings) == 0 {
		t.Fatalf("recordings: %v, %v", recordings, err)
	}
	for _, path := range append(recordings, "testdata/story.jsonl") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			recording, err := recording.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			defer recording.Close()
			r := newCounterReader()
			for e, err := range withBreaks(recording) {
				if err != nil {
					t.Fatal(err)
				}
				for at := r.now; at.Before(e.Seen) && at.Before(r.now.Add(1200*time.Millisecond)); at = at.Add(r.step) {
					r.read(t, at)
				}
				feed(r.collector, r.tracker)(e)
				r.now, r.step = e.Seen, 100*time.Millisecond
				if e.Type == event.Down || e.Type == event.Up {
					r.step = 10 * time.Millisecond
				}
			}
			r.read(t, r.now.Add(time.Minute))
		})
	}
}

// withBreaks adds watch failures of 90 ms and 1.1 s to a recording.
func withBreaks(recording *recording.Reader) func(func(event.Event, error) bool) {
	return func(yield func(event.Event, error) bool) {
		n := 0
		for e, err := range recording.Events() {
			if !yield(e, err) || err != nil {
				return
			}
			n++
			kind, length := event.Kinds()[n/25%6], []time.Duration{90 * time.Millisecond, 1100 * time.Millisecond}[n/25%2]
			if n%25 != 0 {
				continue
			}
			if !yield(event.Event{Seen: e.Seen, Kind: kind, Type: event.Down, Reason: "timeout"}, nil) ||
				!yield(event.Event{Seen: e.Seen.Add(length), Kind: kind, Type: event.Up}, nil) {
				return
			}
		}
	}
}

// counterReader reads all counters of a tracker and compares them with their previous values.
type counterReader struct {
	tracker   *track.Tracker
	collector *Collector
	page      *Page
	// now is the time of the last event. asOf is the time of the current read.
	now, asOf time.Time
	// step is the time between two reads.
	step time.Duration
	seen map[string]float64
}

func newCounterReader() *counterReader {
	r := &counterReader{seen: map[string]float64{}, step: time.Second}
	r.tracker = track.New(track.Settings{})
	r.collector = NewCollector(r.tracker, correlate.New(100), func() time.Time { return r.asOf })
	r.page = NewPage(prometheus.NewRegistry())
	r.page.Add(r.collector, "")
	return r
}

func (r *counterReader) read(t *testing.T, asOf time.Time) {
	t.Helper()
	r.asOf = asOf
	for _, family := range familiesOf(t, r.page) {
		for _, m := range family.Metric {
			value, counts := countedBy(m)
			if !counts {
				continue
			}
			name := family.GetName() + labelsOf(m)
			if before, known := r.seen[name]; known && value < before {
				t.Fatalf("%s fell from %v to %v at %s", name, before, value, asOf)
			}
			r.seen[name] = value
		}
	}
}

// countedBy returns a counter's value or a histogram's count. For other types, counts is false.
func countedBy(m *dto.Metric) (value float64, counts bool) {
	switch {
	case m.Counter != nil:
		return m.Counter.GetValue(), true
	case m.Histogram != nil:
		return float64(m.Histogram.GetSampleCount()), true
	}
	return m.Gauge.GetValue(), false
}

func labelsOf(m *dto.Metric) string {
	var text strings.Builder
	for _, pair := range m.Label {
		text.WriteString("," + pair.GetName() + "=" + pair.GetValue())
	}
	return text.String()
}
