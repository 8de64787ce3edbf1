package main

import (
	"bytes"
	"flag"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/web"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

const story = "../../exporter/metrics/testdata/story.jsonl"

// kubeflap runs a command line. It returns the exit status, standard output and standard error.
func kubeflap(t *testing.T, args ...string) (status int, out, errOut string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	status = run(calledAs("kubeflap"), args, &stdout, &stderr)
	return status, stdout.String(), stderr.String()
}

func damaged(t *testing.T, keep int) string {
	t.Helper()
	whole, err := os.ReadFile(story)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(whole), "\n")
	return write(t, filepath.Join(t.TempDir(), "damaged.jsonl"), strings.Join(lines[:keep], "")+`{"seen":"2026-03-01T12:00:1`)
}

const validKubeconfig = `
apiVersion: v1
kind: Config
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "http://127.0.0.1:1"}}]
users: [{name: u, user: {}}]
`

func TestReplayOncePrintsTheFinalMetrics(t *testing.T) {
	status, out, errOut := kubeflap(t, "replay", "--once", story)
	if status != 0 {
		t.Fatalf("status %d: %s", status, errOut)
	}
	golden, err := os.ReadFile("../../exporter/metrics/testdata/story.prom")
	if err != nil {
		t.Fatal(err)
	}
	if inOrder(t, out) != inOrder(t, string(golden)) {
		t.Errorf("the metrics are not those of the story:\n%s", out)
	}
}

func parseMetrics(text io.Reader) ([]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(text)
	return slices.Collect(maps.Values(byName)), err
}

// pagesOf returns the pages of pipelines.
func pagesOf(pipelines ...*pipeline) web.Pages {
	pages := web.Pages{Metrics: metrics.NewPage(prometheus.NewRegistry()), Unready: pipelines[0].unready}
	for _, p := range pipelines {
		pages.Metrics.Add(p.collector, p.name)
		pages.Clusters = append(pages.Clusters, p.cluster())
	}
	return pages
}

// handlerOf returns the handler for the pages of pipelines.
func handlerOf(t *testing.T, pipelines ...*pipeline) http.Handler {
	t.Helper()
	handler, err := web.Handler(pagesOf(pipelines...), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return handler
}

// served serves the pages of pipelines until the test ends, and returns the URL.
func served(t *testing.T, pipelines ...*pipeline) string {
	t.Helper()
	server := httptest.NewServer(handlerOf(t, pipelines...))
	t.Cleanup(server.Close)
	return server.URL
}

// gather returns the metrics of a pipeline.
func gather(t *testing.T, p *pipeline) []*dto.MetricFamily {
	t.Helper()
	scrape, err := pagesOf(p).Metrics.Scrape()
	if err != nil {
		t.Fatal(err)
	}
	defer scrape.Done()
	var text bytes.Buffer
	if err := scrape.Write(&text, expfmt.NewFormat(expfmt.TypeTextPlain)); err != nil {
		t.Fatal(err)
	}
	families, err := parseMetrics(&text)
	if err != nil {
		t.Fatal(err)
	}
	return families
}

// inOrder returns the metrics in a canonical order of families and labels.
func inOrder(t *testing.T, text string) string {
	t.Helper()
	families, err := parseMetrics(strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, family := range families {
		for _, m := range family.Metric {
			slices.SortFunc(m.Label, func(a, b *dto.LabelPair) int { return strings.Compare(a.GetName(), b.GetName()) })
		}
		var out strings.Builder
		if _, err := expfmt.MetricFamilyToText(&out, family); err != nil {
			t.Fatal(err)
		}
		lines = append(lines, strings.Split(out.String(), "\n")...)
	}
	slices.Sort(lines)
	return strings.Join(lines, "\n")
}

func TestADamagedRecordingIsReadUpToTheDamage(t *testing.T) {
	path := damaged(t, 40)
	for command, want := range map[string]string{
		"replay --once": `kubeflap_node_ready{node="node-1"} 1`, "incidents": "node node-2", "advise --recording": "grace period",
	} {
		status, out, errOut := kubeflap(t, append(strings.Fields(command), path, "--log.level=error")...)
		if status != 1 || !strings.Contains(errOut, path+", line 41") {
			t.Errorf("%s: status %d, want 1 and an error that names line 41 of %s, got: %s", command, status, path, errOut)
		}
		if !strings.Contains(out, want) {
			t.Errorf("%s: what came before the damage is missing, %q:\n%s", command, want, out)
		}
	}
}

// TestALongReadReportsItsProgress reads seven events, one each second.
func TestALongReadReportsItsProgress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		slow := func(yield func(event.Event, error) bool) {
			for range 7 {
				if time.Sleep(time.Second); !yield(event.Event{Seen: time.Now()}, nil) {
					return
				}
			}
		}
		n := 0
		for _, err := range withProgress(slog.New(slog.NewTextHandler(&log, nil)), slow) {
			if n++; err != nil {
				t.Error(err)
			}
		}
		if got := strings.Count(log.String(), `msg="reading the recording" events=`); n != 7 || got != 3 {
			t.Errorf("%d events, %d lines, want 7 and 3:\n%s", n, got, log.String())
		}
	})
}

// TestAsAPluginOfKubectl passes on all arguments after "kubectl flap", like kubectl.
func TestAsAPluginOfKubectl(t *testing.T) {
	url := serveIncidents(t, incidentsDir+"1-heartbeat-loss.jsonl.gz")
	plugin := func(args ...string) (int, string, string) {
		var out, errOut bytes.Buffer
		status := run(calledAs("/somewhere/kubectl-flap"), args, &out, &errOut)
		return status, out.String(), errOut.String()
	}
	for _, args := range [][]string{{"--url", url}, {"--url", url, "incidents"}, {"incidents", "--url", url}, {"-ntest", "--url", url}, {"--url", url, "d2218d71"}} {
		status, out, errOut := plugin(args...)
		if want := !slices.Contains(args, "-ntest"); status != 0 || strings.Contains(out, "d2218d71") != want {
			t.Errorf("%q: status %d: %s%s", args, status, out, errOut)
		}
	}
	for _, c := range []struct{ args, says string }{
		{"--frobnicate", "kubectl flap: unknown long flag '--frobnicate'; see kubectl flap incidents --help"},
		{"watch --frobnicate", "see kubectl flap watch --help"},
		{"--kubeconfig " + os.DevNull, "To try kubeflap without a cluster: kubectl flap demo"},
		{"watch --kubeconfig " + os.DevNull, "To try kubeflap without a cluster: kubectl flap demo"},
	} {
		if status, out, errOut := plugin(strings.Fields(c.args)...); status == 0 || out != "" || !strings.Contains(errOut, c.says) {
			t.Errorf("%s: status %d, want %q: %s%s", c.args, status, c.says, out, errOut)
		}
	}
	if _, help, _ := plugin("--help"); !strings.HasPrefix(help, "usage: kubectl flap ") {
		t.Errorf("the help is %s", help)
	}
	if calledAs(`kubectl-flap.exe`) != calledAs("kubectl-flap") || calledAs("/bin/kubeflap").defaultCommand != "run" {
		t.Error("the program does not know what it is called as")
	}
}

func TestLogOfAReplayEndsWithTheOngoingIncidents(t *testing.T) {
	status, _, log := kubeflap(t, "replay", "--once", "../../exporter/recording/incidents/4-endpoints-reset.jsonl.gz")
	if status != 0 || strings.Count(log, `msg="incident ongoing for 17.5s until the recording ended"`) != 2 || strings.Count(log, `msg="incident recovered after 175ms"`) != 1 || strings.Contains(log, "0001-01-01") {
		t.Errorf("status %d, want 2 ongoing incidents and 1 that has ended:\n%s", status, log)
	}
}
