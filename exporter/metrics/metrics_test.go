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
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// golden compares text with a file, or writes it there with -update.
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

// played returns the collector of a recording at its end.
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

// The story has some of everything: late and missed heartbeats, a node lost and back, flips,
// churn, a bounce, an outage, a reset, a conflict, an in-place update with its silent restart, a blind watch, an
// unavailable resource. Its exposition documents every metric by example.
func TestExpositionOfAStoryWithSomeOfEverything(t *testing.T) {
	golden(t, "testdata/story.prom", exposed(t, played(t, "testdata/story.jsonl")))
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

// feed applies events to a tracker and passes the transitions to a collector.
func feed(c *Collector, tracker *track.Tracker) func(event.Event) {
	return func(e event.Event) {
		for _, x := range tracker.Apply(e) {
			c.Observe(x)
			c.incidents.Observe(x)
		}
	}
}
