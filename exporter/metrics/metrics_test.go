package metrics

import (
	"bytes"
	"flag"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares text with a file. With -update, it writes the text to the file.
func golden(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is out of date, run `make docs` and look at the difference; it should be:\n%s", path, got)
	}
}

// played replays a recording and returns its collector.
func played(t *testing.T, path string) *Collector {
	t.Helper()
	reader, err := recording.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	tracker := track.New(track.Settings{BounceWindow: 2 * time.Minute})
	clock := recording.NewClock(0)
	c := NewCollector(tracker, correlate.New(100), clock.Now)
	if err := recording.Play(t.Context(), reader.Events(), clock, feed(c, tracker)); err != nil {
		t.Fatal(err)
	}
	return c
}

func exposed(t *testing.T, c prometheus.Collector) string {
	t.Helper()
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(c)
	families, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	for _, family := range families {
		if _, err := expfmt.MetricFamilyToText(&b, family); err != nil {
			t.Fatal(err)
		}
	}
	return b.String()
}

// TestExpositionOfAStoryWithSomeOfEverything replays a story with late and missed heartbeats, a node that is lost and
// recovers, readiness changes, churn, a bounce, an outage, a reset, a selector conflict, an in-place update with a
// silent restart, a blind watch and an unavailable resource. The exposition contains an example of every metric.
func TestExpositionOfAStoryWithSomeOfEverything(t *testing.T) {
	golden(t, "testdata/story.prom", exposed(t, played(t, "testdata/story.jsonl")))
}

// TestExpositionOfAFlightRecorder contains an example of each metric that a process with --data.dir adds.
func TestExpositionOfAFlightRecorder(t *testing.T) {
	golden(t, "testdata/recorder.prom", exposed(t, NewFlightRecorder(func() flightrecorder.Status {
		return flightrecorder.Status{Recording: true, Bytes: 4096, Oldest: time.Unix(1_700_000_000, 0), Lost: 2, Gaps: 1}
	})))
}

func TestMetricReferenceIsFresh(t *testing.T) {
	golden(t, "../../docs/metrics.md", Declared().Reference())
}

func TestEveryDeclaredMetricOccursInTheStory(t *testing.T) {
	families := map[string]bool{}
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(played(t, "testdata/story.jsonl"))
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range gathered {
		families[family.GetName()] = true
	}
	for _, m := range Declared() {
		if !families[m.Name] {
			t.Errorf("%s has no series in the story", m.Name)
		}
	}
}

func TestMetricsFollowTheNamingRules(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(played(t, "testdata/story.jsonl"))
	problems, err := testutil.GatherAndLint(registry)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
}

func TestHistogramsAreNativeAndClassic(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(played(t, "testdata/story.jsonl"))
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range gathered {
		for _, m := range family.GetMetric() {
			h := m.GetHistogram()
			if h == nil || h.GetSampleCount() == 0 {
				continue
			}
			if len(h.GetPositiveSpan()) == 0 || len(h.GetBucket()) == 0 {
				t.Errorf("%s: %d native spans and %d classic buckets", family.GetName(), len(h.GetPositiveSpan()), len(h.GetBucket()))
			}
		}
	}
}

func TestCountersCarryTheTimeAtWhichTheirObjectWasFirstSeen(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(played(t, "testdata/story.jsonl"))
	gathered, err := registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, family := range gathered {
		if family.GetName() != "kubeflap_service_outages_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			if got := m.GetCounter().GetCreatedTimestamp().AsTime().UTC().Format(time.TimeOnly); got != "12:00:00" {
				t.Errorf("%s: created at %s, want 12:00:00, when kubeflap listed the Services", m.GetLabel(), got)
			}
		}
	}
}

// feed returns a function that applies an event to the tracker and passes its transitions to the collector.
func feed(c *Collector, tracker *track.Tracker) func(event.Event) {
	return func(e event.Event) {
		for _, x := range tracker.Apply(e) {
			c.Observe(x)
			c.incidents.Observe(x)
		}
	}
}
