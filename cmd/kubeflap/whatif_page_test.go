package main

import (
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/whatif/background"
)

// servePredictions serves the pages at the end of a recording. Predictions come from a directory.
func servePredictions(t *testing.T, file, dir string) string {
	t.Helper()
	reader, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	clock := recording.NewClock(0)
	p := newPipeline(trackerSettings(), clock.Now, newSilentReporter(""))
	p.whatIf = background.New(dir, 0)
	untilTheEnd(t, p.whatIf.Run)
	if err := recording.Play(t.Context(), reader.Events(), clock, p.apply); err != nil {
		t.Fatal(err)
	}
	registry := prometheus.NewRegistry()
	handler, err := web.Handler(web.Pages{Metrics: metrics.NewPage(registry), Registry: registry, Unready: p.unready, Clusters: []web.Cluster{p.cluster("")}}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	return server.URL
}

// incidentPage returns the page of the only incident, after the prediction was computed.
func incidentPage(t *testing.T, base string) string {
	t.Helper()
	_, list, err := (visitor{}).ask(t, http.MethodGet, base+"/api/v1/incidents")
	if err != nil {
		t.Fatal(err)
	}
	id := regexp.MustCompile(`"id": "([^"]*)"`).FindStringSubmatch(list)
	if id == nil {
		t.Fatalf("no incident: %s", list)
	}
	for deadline := time.Now().Add(3 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		_, page, err := (visitor{}).ask(t, http.MethodGet, base+"/flaps?id="+url.QueryEscape(id[1]))
		if err != nil || time.Now().After(deadline) {
			t.Fatalf("%v\n%s", err, page)
		}
		if !strings.Contains(page, "No prediction: it is being computed.") {
			return page
		}
	}
}

func TestThePageOfAnIncidentPredicts(t *testing.T) {
	page := incidentPage(t, servePredictions(t, lostNode, recordedIn(t, lostNode)))
	for _, want := range []string{
		`<h3 id="whatif">With other settings</h3>`,
		`<th scope="col">grace period</th><th scope="col">to Unknown</th><th scope="col">needless</th><th scope="col">addresses lost</th>`,
		`<tr><th scope="row">24s <small>recorded</small></th><td>1</td><td>1</td><td>2</td>`,
		`<tr class="knee"><th scope="row">30s <strong>knee</strong></th><td>0</td>`, "Knee: grace period 30s.",
		"from 2026-11-23 12:11:57 to 12:12:42 UTC.", "<li>Other probe thresholds: ",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("there is no %q in\n%s", want, page)
		}
	}
	if page := incidentPage(t, servePredictions(t, lostNode, t.TempDir())); !strings.Contains(page, "<p>No prediction: nothing was recorded in this period.</p>") {
		t.Errorf("without recordings:\n%s", page)
	}
	if page := incidentPage(t, servePredictions(t, incidentsDir+"2-endpoints-reset.jsonl.gz", t.TempDir())); strings.Contains(page, "With other settings") {
		t.Error("the settings make no difference to an incident without nodes")
	}
}
