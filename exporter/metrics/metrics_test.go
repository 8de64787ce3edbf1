package metrics

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"
	dto "github.com/prometheus/client_model/go"
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
	tracker := track.New(track.Settings{})
	clock := recording.NewClock(0)
	c := NewCollector(tracker, correlate.New(100), clock.Now)
	if err := recording.Play(t.Context(), reader.Events(), clock, feed(c, tracker)); err != nil {
		t.Fatal(err)
	}
	return c
}

// pageOf returns a page with one cluster.
func pageOf(c *Collector) *Page {
	page := NewPage(prometheus.NewRegistry())
	page.Add(c, "")
	return page
}

// familiesOf decodes a scrape. Gatherers sort the metrics and check them.
func familiesOf(t *testing.T, page *Page) []*dto.MetricFamily {
	t.Helper()
	decoder := expfmt.NewDecoder(bytes.NewReader(scraped(t, page, expfmt.NewFormat(expfmt.TypeProtoDelim))), expfmt.NewFormat(expfmt.TypeProtoDelim))
	families, err := prometheus.Gatherers{prometheus.GathererFunc(func() (all []*dto.MetricFamily, err error) {
		for {
			family := &dto.MetricFamily{}
			if err := decoder.Decode(family); errors.Is(err, io.EOF) {
				return all, nil
			} else if err != nil {
				return nil, err //nolint:wrapcheck // the test looks at it
			}
			for _, m := range family.Metric {
				slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			}
			all = append(all, family)
		}
	})}.Gather()
	if err != nil {
		t.Fatal(err)
	}
	return families
}

func exposed(t *testing.T, families []*dto.MetricFamily) string {
	t.Helper()
	return string(library(t, expfmt.NewFormat(expfmt.TypeTextPlain), families))
}

// TestExpositionOfClasses replays outages of each class. An hour has not passed yet, so the gauge still has its old classes.
func TestExpositionOfClasses(t *testing.T) {
	families := slices.DeleteFunc(familiesOf(t, pageOf(played(t, "testdata/classes.jsonl"))), func(f *dto.MetricFamily) bool {
		return !slices.Contains([]string{
			"kubeflap_service_addresses_lost_total", "kubeflap_service_outages_total", "kubeflap_service_outage_seconds_total",
			"kubeflap_service_outage_start_timestamp_seconds",
		}, f.GetName())
	})
	golden(t, "testdata/classes.prom", exposed(t, families))
	for _, f := range families {
		for _, x := range f.Metric {
			got, want := x.GetCounter().GetCreatedTimestamp().AsTime().Format(time.TimeOnly), map[string]string{
				",class=unplanned,namespace=shop,service=crash": "12:00:00", ",class=planned,namespace=shop,service=drain": "12:01:20",
				",class=rollout,namespace=shop,service=rollout": "12:01:30", ",class=scaled_to_zero,namespace=shop,service=idle": "12:06:00",
			}[labelsOf(x)]
			if x.Counter != nil && want != "" && got != want {
				t.Errorf("%s%s: created at %s, want %s", f.GetName(), labelsOf(x), got, want)
			}
		}
	}
}

// TestExpositionOfAFlightRecorder contains an example of each metric that a process with --data.dir adds.
func TestExpositionOfAFlightRecorder(t *testing.T) {
	registry := prometheus.NewPedanticRegistry()
	registry.MustRegister(NewFlightRecorder(func() flightrecorder.Status {
		return flightrecorder.Status{Recording: true, Lost: 2}
	}))
	golden(t, "testdata/recorder.prom", exposed(t, familiesOf(t, NewPage(registry))))
}

// TestTheStory replays a story with some of everything: late and missed heartbeats, a node that is lost and recovers,
// readiness changes, churn, a bounce, an outage, a reset, a selector conflict, an in-place update with a silent restart, a
// blind watch and an unavailable resource. All metrics must have series. It also checks their names, that histograms have
// native and classic buckets, and that counters carry the time at which kubeflap listed the Services.
func TestTheStory(t *testing.T) {
	families := familiesOf(t, pageOf(played(t, "testdata/story.jsonl")))
	golden(t, "testdata/story.prom", exposed(t, families))
	problems, err := promlint.NewWithMetricFamilies(families).Lint()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		t.Errorf("%s: %s", p.Metric, p.Text)
	}
	for _, m := range NewCollector(nil, nil, nil).rows {
		i := slices.IndexFunc(families, func(f *dto.MetricFamily) bool { return f.GetName() == m.Name })
		if i < 0 {
			t.Errorf("%s has no series in the story", m.Name)
			continue
		}
		for _, x := range families[i].Metric {
			if h := x.GetHistogram(); h.GetSampleCount() > 0 && (len(h.GetPositiveSpan()) == 0 || len(h.GetBucket()) == 0) {
				t.Errorf("%s: %d native spans and %d classic buckets", m.Name, len(h.GetPositiveSpan()), len(h.GetBucket()))
			}
			if got := x.GetCounter().GetCreatedTimestamp().AsTime().Format(time.TimeOnly); m.Name == "kubeflap_service_outages_total" && got != "12:00:00" {
				t.Errorf("%s: created at %s, want 12:00:00", x.GetLabel(), got)
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
