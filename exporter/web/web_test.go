package web

import (
	"html"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// server returns a server for a registry with one gauge. ready is the result of /-/ready.
func server(t *testing.T, ready bool) *httptest.Server {
	t.Helper()
	registry := prometheus.NewRegistry()
	registry.MustRegister(prometheus.NewGauge(prometheus.GaugeOpts{Name: "interval_seconds", Help: "An interval."}))
	handler, err := Handler(Pages{Metrics: metrics.NewPage(registry), Unready: func() []watches.Watch {
		if ready {
			return nil
		}
		return []watches.Watch{{Resource: event.KindLease, Since: zero, Reason: "timeout"}, {Resource: event.KindPod, Reason: "not listed yet"}}
	}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func allWatched() []watches.Watch { return nil }

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
		{"the metrics", true, "/metrics", 200, "interval_seconds 0"},
		{"alive", false, "/-/healthy", 200, "healthy"},
		{"ready once every watch has synced", true, "/-/ready", 200, "is ready"},
		{"not ready before, and it says why", false, "/-/ready", 503, "does not watch leases since 2026-03-01 12:00:00 UTC (timeout); pods (not listed yet)."},
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

// TestLinksOfTheLandingPage follows the links. The library does not escape them, and a recording can have any name.
func TestLinksOfTheLandingPage(t *testing.T) {
	for _, names := range [][]string{{""}, {"one", "<b>two & three</b>"}} {
		var clusters []Cluster
		for _, name := range names {
			c := clusterOf(name, lostNode("web"), at(60))
			c.Advice = func() (report.Report, error) { return report.Report{}, nil }
			clusters = append(clusters, c)
		}
		s := serverOf(t, clusters...)
		_, page := get(t, s, "/", nil)
		links := regexp.MustCompile(`href="([^"]*)"`).FindAllStringSubmatch(page, -1)
		if len(links) != 5+len(names) || strings.Contains(page, "<b>") {
			t.Errorf("%q: %d links, want %d:\n%s", names, len(links), 5+len(names), page)
		}
		for _, link := range links {
			if response, answer := get(t, s, html.UnescapeString(link[1]), nil); response.StatusCode != http.StatusOK {
				t.Errorf("%q: %s is answered with %s", names, link[1], answer)
			}
		}
	}
}

func TestOnlyReadingIsAllowed(t *testing.T) {
	s := server(t, true)
	probes := httptest.NewServer(Probes(allWatched))
	t.Cleanup(probes.Close)
	for _, url := range []string{
		s.URL + "/", s.URL + "/metrics", s.URL + "/flaps", s.URL + "/flaps.css", s.URL + "/flaps.js", s.URL + "/flaps.svg", s.URL + "/api/v1/incidents", s.URL + "/-/healthy", s.URL + "/-/ready",
		probes.URL + "/-/healthy", probes.URL + "/-/ready",
	} {
		for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "PROPFIND"} {
			request, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("x"))
			if err != nil {
				t.Fatal(err)
			}
			response, err := http.DefaultClient.Do(request)
			if err != nil {
				t.Fatal(err)
			}
			if err := response.Body.Close(); err != nil {
				t.Fatal(err)
			}
			want := http.StatusMethodNotAllowed
			if method == "GET" || method == "HEAD" {
				want = http.StatusOK
			}
			if response.StatusCode != want || want != http.StatusOK && response.Header.Get("Allow") != "GET, HEAD" {
				t.Errorf("%s %s is answered with %d %v, want %d", method, url, response.StatusCode, response.Header, want)
			}
		}
	}
}

// waiting is a collector and a source of incidents that blocks until it is released.
type waiting struct{ begun, released chan struct{} }

func (w waiting) wait() {
	w.begun <- struct{}{}
	<-w.released
}

// TestTooManyConcurrentRequestsAreRefused checks that requests above the limit are rejected immediately, and that
// probes always succeed.
func TestTooManyConcurrentRequestsAreRefused(t *testing.T) {
	for path, room := range map[string]int{"/metrics": maxScrapes, "/flaps": maxReaders, "/api/v1/incidents": maxReaders} {
		w := waiting{make(chan struct{}), make(chan struct{})}
		read := func() State { w.wait(); return State{} }
		handler := handlerOf(t, registryWith(func(chan<- prometheus.Metric) { w.wait() }), Cluster{Read: read})
		ask := func(path string) int {
			answer := httptest.NewRecorder()
			handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
			return answer.Code
		}
		answers := make(chan int)
		for range room {
			go func() { answers <- ask(path) }()
			<-w.begun
		}
		tooMuch := make(chan int, 1)
		go func() { tooMuch <- ask(path) }()
		select {
		case got := <-tooMuch:
			if got != http.StatusServiceUnavailable {
				t.Errorf("%s is answered with %d after %d that are not answered yet, want 503", path, got, room)
			}
		case <-w.begun:
			t.Fatalf("%s is let in after %d that are not answered yet", path, room)
		}
		if got := ask("/-/ready"); got != http.StatusOK {
			t.Errorf("/-/ready is answered with %d meanwhile", got)
		}
		close(w.released)
		for range room {
			if got := <-answers; got != http.StatusOK {
				t.Errorf("%s is answered with %d in the end", path, got)
			}
		}
		go func() { answers <- ask(path) }()
		<-w.begun
		if got := <-answers; got != http.StatusOK {
			t.Errorf("%s is answered with %d afterwards", path, got)
		}
	}
}

func TestEveryAnswerHasItsHeaders(t *testing.T) {
	s := server(t, true)
	for _, path := range []string{"/", "/metrics", "/flaps", "/flaps?bad", "/flaps.css", "/flaps.js", "/flaps.svg", "/api/v1/incidents", "/api/v1/incidents?bad", "/-/healthy", "/nowhere"} {
		response, _ := get(t, s, path, nil)
		policy := response.Header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; ") || !strings.Contains(policy, "frame-ancestors 'none'") || path != "/" && strings.Contains(policy, "unsafe") ||
			response.Header.Get("X-Content-Type-Options") != "nosniff" || response.Header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s has the headers %v", path, response.Header)
		}
	}
}

// TestHeadersOfTheWebConfigStay checks that headers from --web.config.file take precedence, for example to embed the
// page in another page.
func TestHeadersOfTheWebConfigStay(t *testing.T) {
	handler := withHeaders(http.NotFoundHandler())
	answer := httptest.NewRecorder()
	answer.Header().Set("Content-Security-Policy", "frame-ancestors https://grafana.example.org")
	handler.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/flaps", http.NoBody))
	if got := answer.Header()["Content-Security-Policy"]; len(got) != 1 || got[0] != "frame-ancestors https://grafana.example.org" {
		t.Errorf("the policy is %q", got)
	}
}
