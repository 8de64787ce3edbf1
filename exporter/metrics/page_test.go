package metrics

import (
	"bytes"
	"errors"
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
	"google.golang.org/protobuf/proto"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// pages are of one cluster, of two with names, and of a large one.
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

// crowded is a collector of a cluster with so many Services that a metric of them takes several pieces.
func crowded() *Collector {
	c := NewCollector()
	fold := track.New(track.Settings{}, c.Observe)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	c.Read(fold, func() time.Time { return at })
	for i := range 5 * piece / 100 {
		fold.Apply(event.Event{Seen: at, Kind: event.KindService, Type: event.Added, Object: &event.Service{Meta: meta("service", i)}})
	}
	return c
}

// oddlyNamed is a collector of a cluster with names that no API server lets pass, as a recording may have them.
func oddlyNamed() *Collector {
	c := NewCollector()
	fold := track.New(track.Settings{}, c.Observe)
	at := time.Date(2026, 3, 1, 12, 0, 0, 5, time.UTC)
	c.Read(fold, func() time.Time { return at.Add(1234567 * time.Microsecond) })
	for i, name := range []string{"a\\b\"c\nd\u202e", "", "grüße", `\`, `}`, `="`} {
		meta := event.Meta{UID: event.ParseUID(name), Namespace: name, Name: name}
		fold.Apply(event.Event{Seen: at, Kind: event.KindNode, Type: event.Added, Object: &event.Node{Meta: meta, Ready: &event.Condition{Status: event.Status(i % 3)}}})
		fold.Apply(event.Event{Seen: at, Kind: event.KindService, Type: event.Added, Object: &event.Service{Meta: meta, Type: name}})
	}
	return c
}

// What a scrape writes is what the library writes of the same metrics, checked by a pedantic registry: the same series in
// the same families, scrape after scrape. Only their order, that of their labels, and the look of numbers are left to the writer.
func TestAScrapeIsWhatTheLibraryWrites(t *testing.T) {
	for name, page := range pages(t) {
		families, err := page.Gather()
		if err != nil {
			t.Fatal(err)
		}
		for _, accepted := range []string{
			"text/plain;version=0.0.4", "application/openmetrics-text;version=1.0.0", "application/openmetrics-text;version=0.0.1",
			"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited",
		} {
			format := expfmt.NegotiateAccept(map[string][]string{"Accept": {accepted}}, expfmt.DefaultOpenMetricsAcceptedFormats()...)
			t.Run(name+" as "+string(format), func(t *testing.T) {
				want := blocks(t, format, library(t, format, families))
				canonical := canonicalLine
				if format.FormatType() == expfmt.TypeProtoDelim {
					canonical = canonicalMessage
				}
				var compared []byte
				for range 3 {
					got := scraped(t, page, format)
					if !bytes.Equal(got, compared) {
						compare(t, blocks(t, format, got), want, canonical)
					}
					compared = got
				}
			})
		}
	}
}

// scraped is what a scrape gives.
func scraped(t *testing.T, page *Page, format expfmt.Format) []byte {
	t.Helper()
	if !CanScrape(format) {
		t.Fatalf("%s is left to the library", format)
	}
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

// compare reads only the series whose bytes differ. To read all 4 MB of them takes seconds under the race detector.
func compare(t *testing.T, got, want map[string][]string, canonical func(*testing.T, string) string) {
	t.Helper()
	read := func(all []string) []string {
		var found []string
		for _, series := range all {
			found = append(found, canonical(t, series))
		}
		slices.Sort(found)
		return found
	}
	for head := range want {
		others, missing := differences(got[head], want[head])
		if got, want := read(others), read(missing); !slices.Equal(got, want) {
			t.Errorf("%s: got\n%s\nwant\n%s", head, strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	}
	for head := range got {
		if want[head] == nil {
			t.Errorf("%s is not to be there", head)
		}
	}
}

// differences are the elements of two sorted lists that are in one of them only.
func differences(a, b []string) (onlyA, onlyB []string) {
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0] == b[0]:
			a, b = a[1:], b[1:]
		case a[0] < b[0]:
			onlyA, a = append(onlyA, a[0]), a[1:]
		default:
			onlyB, b = append(onlyB, b[0]), b[1:]
		}
	}
	return append(onlyA, a...), append(onlyB, b...)
}

// blocks are the series of each family, by what stands before them.
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
			found[head] = append(found[head], line)
		}
	}
	if head != "" {
		found[head] = append(found[head], "") // the end, too, is to be the same
	}
	for _, series := range found {
		slices.Sort(series)
	}
	return found
}

var (
	lineParts = regexp.MustCompile(`(?s)^([a-z_:]+)(?:\{(.*)\})? (\S+)$`)
	labelPart = regexp.MustCompile(`[a-z_]+="(?:[^"\\]|\\.)*"`)
)

// canonicalLine is a line with its labels in order and its number in one form. The end has none.
func canonicalLine(t *testing.T, line string) string {
	t.Helper()
	if line == "" {
		return ""
	}
	parts := lineParts.FindStringSubmatch(line)
	if parts == nil {
		t.Fatalf("%q is no series", line)
	}
	labels := labelPart.FindAllString(parts[2], -1)
	if strings.Join(labels, ",") != parts[2] {
		t.Fatalf("%q has labels that are none", line)
	}
	slices.Sort(labels)
	value, err := strconv.ParseFloat(parts[3], 64)
	if err != nil {
		t.Fatal(err)
	}
	return parts[1] + strings.Join(labels, ",") + " " + strconv.FormatFloat(value, 'g', -1, 64)
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
			message, err := proto.Marshal(m)
			if err != nil {
				t.Fatal(err)
			}
			series = append(series, string(message))
		}
		slices.Sort(series)
		found[strings.Join([]string{f.GetName(), f.GetHelp(), f.GetType().String()}, "\n")] = series
	}
}

// canonicalMessage is a message as text with its labels in order.
func canonicalMessage(t *testing.T, message string) string {
	t.Helper()
	m := &dto.Metric{}
	if err := proto.Unmarshal([]byte(message), m); err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
	return prototext.MarshalOptions{}.Format(m)
}

// Numbers are read as what they are, and in OpenMetrics seen to be no integers.
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
