package metrics

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/encoding/protodelim"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// pages returns pages with one cluster, with two named clusters, and with a large cluster.
func pages(t *testing.T) map[string]*Page {
	t.Helper()
	process := prometheus.NewPedanticRegistry()
	gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "process_thing", Help: `of "a" \ and` + "\nmore"}, []string{"x"})
	gauge.WithLabelValues("a\"b\\c\n").Set(1.5)
	process.MustRegister(gauge)
	one, two := NewPage(process), NewPage(process)
	one.Add(played(t, "testdata/story.jsonl"), "")
	two.Add(played(t, "testdata/story.jsonl"), "story")
	two.Add(oddlyNamed(), "odd \"one\"\\\n")
	large := NewPage(process)
	large.Add(crowded(), "")
	return map[string]*Page{"one cluster": one, "two clusters": two, "a large cluster": large}
}

// crowded returns the collector of a cluster with many Services, so that a single metric needs several writes.
func crowded() *Collector {
	tracker := track.New(track.Settings{})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := NewCollector(tracker, correlate.New(100), func() time.Time { return at })
	for i := range 3000 {
		feed(c, tracker)(event.Event{Seen: at, Kind: event.KindService, Type: event.Added, Object: &event.Service{Meta: event.Meta{UID: event.ParseUID(fmt.Sprint("service-", i)), Namespace: "shop", Name: fmt.Sprint("service-", i)}}})
	}
	return c
}

// oddlyNamed returns the collector of a cluster with invalid names, which an API server rejects but a recording may
// contain.
func oddlyNamed() *Collector {
	tracker := track.New(track.Settings{})
	at := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	c := NewCollector(tracker, correlate.New(100), func() time.Time { return at.Add(1234567 * time.Microsecond) })
	for i, name := range []string{"a\\b\"c\nd\u202e", "", "grüße", `\`, `}`, `="`} {
		meta := event.Meta{UID: event.ParseUID(name), Namespace: name, Name: name}
		feed(c, tracker)(event.Event{Seen: at, Kind: event.KindNode, Type: event.Added, Object: &event.Node{Meta: meta, Ready: &event.Condition{Status: event.Status(i % 3)}}})
		feed(c, tracker)(event.Event{Seen: at, Kind: event.KindService, Type: event.Added, Object: &event.Service{Meta: meta, Type: name}})
	}
	return c
}

// TestScrapesReuseTheirMemory checks that all scrapes of a page are equal in each format, although they share the memory
// of their series, and that none is lost.
func TestScrapesReuseTheirMemory(t *testing.T) {
	for name, page := range pages(t) {
		want := exposed(t, familiesOf(t, page))
		for _, format := range []expfmt.Format{expfmt.FmtText, expfmt.FmtOpenMetrics_1_0_0, expfmt.FmtOpenMetrics_0_0_1, expfmt.FmtProtoDelim} {
			first := scraped(t, page, format)
			for range 2 {
				if !bytes.Equal(scraped(t, page, format), first) {
					t.Errorf("%s as %s: the next scrape differs from the first", name, format)
				}
			}
			if format == expfmt.FmtProtoDelim {
				if got := exposed(t, familiesOf(t, decoded(first))); got != want {
					t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
				}
			}
		}
	}
}

// decoded returns a gatherer of the metrics in a scrape.
func decoded(scrape []byte) prometheus.Gatherer {
	return prometheus.Gatherers{prometheus.GathererFunc(func() (all []*dto.MetricFamily, err error) {
		for reader := bytes.NewReader(scrape); reader.Len() > 0; {
			f := &dto.MetricFamily{}
			if err := protodelim.UnmarshalFrom(reader, f); err != nil {
				return nil, err
			}
			for _, m := range f.Metric {
				slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			}
			all = append(all, f)
		}
		return all, nil
	})}
}

// scraped returns the output of a scrape.
func scraped(t *testing.T, page *Page, format expfmt.Format) []byte {
	t.Helper()
	scrape, err := page.Scrape()
	if err != nil {
		t.Fatal(err)
	}
	defer scrape.Done()
	var b bytes.Buffer
	if err := scrape.Write(&b, format); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func library(t *testing.T, format expfmt.Format, families []*dto.MetricFamily) []byte {
	t.Helper()
	var b bytes.Buffer
	encoder := expfmt.NewEncoder(&b, format)
	for _, f := range families {
		if err := encoder.Encode(f); err != nil {
			t.Fatal(err)
		}
	}
	if closer, ok := encoder.(expfmt.Closer); ok {
		if err := closer.Close(); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}
