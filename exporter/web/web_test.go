package web

import (
	"compress/gzip"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"google.golang.org/protobuf/encoding/protodelim"
)

// server serves a registry with one native histogram; ready says what /-/ready answers.
func server(t *testing.T, ready bool) *httptest.Server {
	t.Helper()
	registry := prometheus.NewRegistry()
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "interval_seconds", Help: "An interval.", Buckets: []float64{1, 10}, NativeHistogramBucketFactor: 1.1,
	})
	histogram.Observe(7)
	registry.MustRegister(histogram)
	handler, err := Handler(prometheus.ToTransactionalGatherer(registry), registry, func() bool { return ready }, nil, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func get(t *testing.T, s *httptest.Server, path string, header http.Header) (*http.Response, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	response, err := (&http.Transport{DisableCompression: true}).RoundTrip(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(body)
}

func TestPages(t *testing.T) {
	cases := []struct {
		name   string
		ready  bool
		path   string
		status int
		says   string
	}{
		{"the landing page links to the metrics", true, "/", 200, `href="/metrics"`},
		{"the metrics", true, "/metrics", 200, "interval_seconds_count 1"},
		{"alive", false, "/-/healthy", 200, "healthy"},
		{"ready once every watch has synced", true, "/-/ready", 200, "is ready"},
		{"not ready before", false, "/-/ready", 503, "not ready"},
		{"there is no other page", true, "/nowhere", 404, ""},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			response, body := get(t, server(t, c.ready), c.path, nil)
			if response.StatusCode != c.status || !strings.Contains(body, c.says) {
				t.Errorf("status %d, want %d, with %q in:\n%s", response.StatusCode, c.status, c.says, body)
			}
		})
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	response, err := http.Post(server(t, true).URL+"/metrics", "text/plain", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("status %d, want 405", response.StatusCode)
	}
}

func TestMetricsAsOpenMetrics(t *testing.T) {
	response, body := get(t, server(t, true), "/metrics", http.Header{"Accept": {"application/openmetrics-text;version=1.0.0"}})
	if kind := response.Header.Get("Content-Type"); !strings.HasPrefix(kind, "application/openmetrics-text") {
		t.Errorf("content type %s", kind)
	}
	if !strings.HasSuffix(body, "# EOF\n") {
		t.Errorf("no end marker in:\n%s", body)
	}
}

func TestMetricsInProtobufHoldNativeHistograms(t *testing.T) {
	_, body := get(t, server(t, true), "/metrics", http.Header{
		"Accept": {"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"},
	})
	in := strings.NewReader(body)
	for in.Len() > 0 {
		var family dto.MetricFamily
		if err := protodelim.UnmarshalFrom(in, &family); err != nil {
			t.Fatal(err)
		}
		if family.GetName() == "interval_seconds" {
			if spans := family.GetMetric()[0].GetHistogram().GetPositiveSpan(); len(spans) != 1 {
				t.Errorf("%d native spans, want 1", len(spans))
			}
			return
		}
	}
	t.Error("interval_seconds is missing")
}

func TestMetricsCompressed(t *testing.T) {
	response, body := get(t, server(t, true), "/metrics", http.Header{"Accept-Encoding": {"gzip"}})
	if encoding := response.Header.Get("Content-Encoding"); encoding != "gzip" {
		t.Fatalf("encoding %q, want gzip", encoding)
	}
	in, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(in)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(text), "interval_seconds_count 1") {
		t.Errorf("unexpected text:\n%s", text)
	}
}

func TestProbesTellNothingOfTheCluster(t *testing.T) {
	server := httptest.NewServer(Probes(func() bool { return true }))
	t.Cleanup(server.Close)
	for path, want := range map[string]int{"/-/healthy": 200, "/-/ready": 200, "/": 404, "/metrics": 404, "/flaps": 404, "/api/v1/incidents": 404} {
		response, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		if err := response.Body.Close(); err != nil {
			t.Fatal(err)
		}
		if response.StatusCode != want {
			t.Errorf("%s is answered with %s, want %d", path, response.Status, want)
		}
	}
}
