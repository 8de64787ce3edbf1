package web

import (
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// TestMetricsAreAnsweredAsByTheLibrary checks that all combinations of headers get the same response as from
// client_golang.
func TestMetricsAreAnsweredAsByTheLibrary(t *testing.T) {
	const text2, text3 = "application/openmetrics-text;version=1.0.0;q=0.5,application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2",
		"application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.6,application/openmetrics-text;version=0.0.1;q=0.5," +
			"text/plain;version=1.0.0;escaping=allow-utf-8;q=0.4,text/plain;version=0.0.4;q=0.3,*/*;q=0.2"
	gatherer := counted(t)
	handler := handlerOf(t, gatherer)
	library := promhttp.HandlerFor(gatherer, promhttp.HandlerOpts{EnableOpenMetrics: true})
	for _, accept := range []string{
		"", "*/*", "text/html", "text/plain", text2, text3, "text/plain;version=1.0.0;escaping=allow-utf-8",
		"application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited;q=0.7," + text3,
		"text/plain;version=0.0.4;escaping=values", "application/openmetrics-text;version=1.0.0;escaping=dots",
		"application/openmetrics-text", "text/plain;q=0", "application/openmetrics-text;version=9", "nonsense",
	} {
		for _, encoding := range []string{"", "gzip", "gzip, deflate, br", "gzip;q=0", "zstd", "zstd;q=0.1,gzip", "identity;q=0", "*"} {
			for _, method := range []string{http.MethodGet, http.MethodHead} {
				request := httptest.NewRequestWithContext(t.Context(), method, "/metrics", http.NoBody)
				request.Header.Set("Accept", accept)
				request.Header.Set("Accept-Encoding", encoding)
				got, want := answerOf(t, handler, request), answerOf(t, library, request)
				if got != want {
					t.Errorf("%s with Accept %q and Accept-Encoding %q: got\n%s\nwant\n%s", method, accept, encoding, got, want)
				}
			}
		}
	}
}

func counted(t *testing.T) *prometheus.Registry {
	t.Helper()
	registry := prometheus.NewRegistry()
	flips := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "flips_total", Help: "Flips."}, []string{"to"})
	flips.WithLabelValues("ready").Add(3)
	flips.WithLabelValues("a\"b\\c\n").Inc()
	a := prometheus.NewGauge(prometheus.GaugeOpts{Name: "a", Help: "A."})
	histogram := prometheus.NewHistogram(prometheus.HistogramOpts{Name: "interval_seconds", Help: "An interval.", Buckets: []float64{1, 10}, NativeHistogramBucketFactor: 1.1})
	histogram.Observe(7)
	registry.MustRegister(flips, a, histogram)
	return registry
}

// answerOf returns the status, the format headers and the text of a response.
func answerOf(t *testing.T, handler http.Handler, request *http.Request) string {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	var body io.Reader = recorder.Body
	var err error
	if request.Method == http.MethodGet {
		switch recorder.Header().Get("Content-Encoding") {
		case "gzip":
			body, err = gzip.NewReader(body)
		case "zstd":
			body, err = zstd.NewReader(body)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	text, err := io.ReadAll(body)
	if err != nil {
		t.Fatal(err)
	}
	if request.Method == http.MethodHead {
		text = nil
	}
	vary := slices.Sorted(slices.Values(recorder.Header().Values("Vary")))
	return strings.Join([]string{recorder.Result().Status, recorder.Header().Get("Content-Type"), strings.Join(vary, ","), string(text)}, "\n")
}

// collecting is a collector that describes nothing in advance.
type collecting func(chan<- prometheus.Metric)

func (collecting) Describe(chan<- *prometheus.Desc) {}

func (c collecting) Collect(to chan<- prometheus.Metric) { c(to) }

func registryWith(collect collecting) *prometheus.Registry {
	registry := prometheus.NewRegistry()
	registry.MustRegister(collect)
	return registry
}

func TestAFailedScrapeIsReported(t *testing.T) {
	handler := handlerOf(t, registryWith(func(to chan<- prometheus.Metric) {
		to <- prometheus.NewInvalidMetric(prometheus.NewInvalidDesc(nil), errors.New("the cluster is gone"))
	}))
	for _, accept := range []string{"text/plain", "application/vnd.google.protobuf;proto=io.prometheus.client.MetricFamily;encoding=delimited"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/metrics", http.NoBody)
		request.Header.Set("Accept", accept)
		answer := httptest.NewRecorder()
		handler.ServeHTTP(answer, request)
		if answer.Code != http.StatusInternalServerError || !strings.Contains(answer.Body.String(), "the cluster is gone") {
			t.Errorf("%s is answered with %d %s", accept, answer.Code, answer.Body)
		}
	}
}
