package metrics

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"google.golang.org/protobuf/encoding/protodelim"
	"google.golang.org/protobuf/encoding/prototext"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/incident/correlate"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// pages returns pages with one cluster, with two named clusters, and with a large cluster.
func pages(t *testing.T) map[string]*Page {
	t.Helper()
	newPage := func() *Page {
		process := prometheus.NewPedanticRegistry()
		gauge := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "process_thing", Help: `of "a" \ and` + "\nmore"}, []string{"x"})
		gauge.WithLabelValues("a\"b\\c\n").Set(1.5)
		process.MustRegister(gauge)
		return NewPage(process)
	}
	one, two := newPage(), newPage()
	one.Add(played(t, "testdata/story.jsonl"), "")
	two.Add(played(t, "testdata/story.jsonl"), "story")
	two.Add(oddlyNamed(), "odd \"one\"\\\n")
	large := newPage()
	large.Add(crowded(), "")
	return map[string]*Page{"one cluster": one, "two clusters": two, "a large cluster": large}
}

// crowded returns the collector of a cluster with many Services, so that a single metric needs several writes.
func crowded() *Collector {
	tracker := track.New(track.Settings{})
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c := NewCollector(tracker, correlate.New(100), func() time.Time { return at })
	for i := range 5 * piece / 100 {
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

// TestAScrapeIsWhatTheLibraryWrites checks that a scrape contains the same families and series as the library's output
// for the decoded metrics.
// The order of series and labels and the format of numbers may differ. Repeated scrapes must be identical.
func TestAScrapeIsWhatTheLibraryWrites(t *testing.T) {
	for name, page := range pages(t) {
		families := familiesOf(t, page)
		for _, accepted := range []string{
			"text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0", "application/openmetrics-text;version=0.0.1",
			"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
		} {
			format := expfmt.NegotiateAccept(map[string][]string{"Accept": {accepted}}, expfmt.DefaultOpenMetricsAcceptedFormats()...)
			t.Run(name+" as "+string(format), func(t *testing.T) {
				want := blocks(t, format, library(t, format, families))
				first := scraped(t, page, format)
				compare(t, blocks(t, format, first), want)
				for range 2 {
					if !bytes.Equal(scraped(t, page, format), first) {
						t.Error("the next scrape differs from the first")
					}
				}
			})
		}
	}
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

func compare(t *testing.T, got, want map[string][]string) {
	t.Helper()
	for head, series := range want {
		if !slices.Equal(got[head], series) {
			t.Errorf("%s: got\n%s\nwant\n%s", head, strings.Join(got[head], "\n"), strings.Join(series, "\n"))
		}
	}
	for head := range got {
		if want[head] == nil {
			t.Errorf("%s is unexpected", head)
		}
	}
}

// blocks returns the sorted series of each family. The keys are the HELP and TYPE lines.
func blocks(t *testing.T, format expfmt.Format, written []byte) map[string][]string {
	t.Helper()
	if format.FormatType() == expfmt.TypeProtoDelim {
		return messages(t, written)
	}
	found := map[string][]string{}
	head := ""
	lines := strings.Split(string(written), "\n")
	for _, line := range lines {
		switch {
		case strings.HasPrefix(line, "# HELP"):
			head = line
		case strings.HasPrefix(line, "#"):
			head += "\n" + line
		case line != "":
			found[head] = append(found[head], canonical(t, line))
		}
	}
	if head != "" {
		found[head] = append(found[head], "") // include the end in the comparison
	}
	for _, series := range found {
		slices.Sort(series)
	}
	return found
}

const labelPattern = `[a-z_]+="(?:[^"\\]|\\.)*"`

var (
	labelPair  = regexp.MustCompile(labelPattern)
	seriesLine = regexp.MustCompile(`^([a-z_:]+)(?:\{(` + labelPattern + `(?:,` + labelPattern + `)*)\})? (\S+)$`)
)

// canonical returns a line with sorted labels and a canonical number.
func canonical(t *testing.T, line string) string {
	t.Helper()
	found := seriesLine.FindStringSubmatch(line)
	if found == nil {
		t.Fatalf("%q is not a series", line)
	}
	value, err := strconv.ParseFloat(found[3], 64)
	if err != nil {
		t.Fatalf("%q does not end in a number", line)
	}
	labels := labelPair.FindAllString(found[2], -1)
	slices.Sort(labels)
	return found[1] + strings.Join(labels, ",") + " " + strconv.FormatFloat(value, 'g', -1, 64)
}

func messages(t *testing.T, written []byte) map[string][]string {
	t.Helper()
	found := map[string][]string{}
	for reader := bytes.NewReader(written); ; {
		f := &dto.MetricFamily{}
		if err := protodelim.UnmarshalFrom(reader, f); errors.Is(err, io.EOF) {
			return found
		} else if err != nil {
			t.Fatal(err)
		}
		var series []string
		for _, m := range f.Metric {
			slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
			series = append(series, prototext.MarshalOptions{}.Format(m))
		}
		slices.Sort(series)
		found[strings.Join([]string{f.GetName(), f.GetHelp(), f.GetType().String()}, "\n")] = series
	}
}

// TestNumbers checks that numbers are unchanged after writing and parsing, and look like floats, as OpenMetrics
// requires.
func TestNumbers(t *testing.T) {
	for _, value := range []float64{
		0, 1, -1, 0.1, 1e21, 1e-9, 1234567, -0.5, math.NaN(), math.Inf(1), math.Inf(-1), math.MaxFloat64, math.SmallestNonzeroFloat64,
		1<<53 - 1, 1 << 53, -(1 << 53), 1<<53 + 2, 1e300, 1700000000.123456,
	} {
		for _, open := range []bool{false, true} {
			text := string(appendNumber(nil, value, open))
			got, err := strconv.ParseFloat(text, 64)
			if err != nil || got != value && !(math.IsNaN(got) && math.IsNaN(value)) {
				t.Errorf("%v is written as %s: %v", value, text, err)
			}
			if open && !math.IsNaN(value) && !math.IsInf(value, 0) && !strings.ContainsAny(text, "e.") {
				t.Errorf("%v is written as %s in OpenMetrics", value, text)
			}
		}
	}
}
