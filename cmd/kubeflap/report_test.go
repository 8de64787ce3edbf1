package main

import (
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const lostNode = incidentsDir + "1-heartbeat-loss.jsonl.gz"

// TestReportsOfTheRecordedIncidents checks that the same recording produces the same bytes.
func TestReportsOfTheRecordedIncidents(t *testing.T) {
	for _, name := range []string{"1-heartbeat-loss", "3-control-plane-stall"} {
		for format, ending := range map[string]string{"markdown": ".md", "html": ".html"} {
			args := []string{"report", "--recording", incidentsDir + name + ".jsonl.gz", "--format", format}
			first := must(t, args...)
			golden(t, "testdata/report/"+name+ending, first)
			if must(t, args...) != first {
				t.Errorf("%s as %s differs from run to run", name, format)
			}
		}
	}
}

func TestTheReportHasTheChecksumOfTheRecording(t *testing.T) {
	for _, file := range append(recorded(t), story) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(text)
		if out := must(t, "report", "--recording", file); !strings.Contains(out, "| SHA-256 of the recording | `"+hex.EncodeToString(sum[:])+"` |") {
			t.Errorf("the checksum of %s is missing:\n%s", file, out)
		}
	}
}

// TestThePageOfTheReportIsReal checks that docs/report.md shows lines of the report on the first recording.
func TestThePageOfTheReportIsReal(t *testing.T) {
	page, err := os.ReadFile("../../docs/report.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "````markdown\n")
	example, _, found := strings.Cut(rest, "````\n")
	if !found || strings.Count(example, "\n") < 10 {
		t.Fatalf("the page has no example: %q", example)
	}
	out := must(t, "report", "--recording", lostNode)
	for line := range strings.Lines(example) {
		if line != "...\n" && !strings.Contains(out, line) {
			t.Errorf("the report has no line %q", line)
		}
	}
}

func TestThePeriodAndTheSubjectOfAReport(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"a time":              {[]string{"--from=2026-11-23T12:12:00Z", "--to=2026-11-23T12:12:40Z"}, "Period: 2026-11-23 12:12:00.0 to 2026-11-23 12:12:40.0 UTC (40s)"},
		"before the end":      {[]string{"--from=30s", "--to=10s"}, "Period: 2026-11-23 12:12:12.8 to 2026-11-23 12:12:32.8 UTC (20s)"},
		"without incidents":   {[]string{"--to=2026-11-23T12:12:03Z"}, "kubeflap saw no incidents in this period, apart from expected rollouts and drains. kubeflap watched all resources for the whole period."},
		"longer than watched": {[]string{"--from=2h"}, "kubeflap did not see everything in this period: kubeflap began to watch at 2026-11-23 12:11:57.4 UTC and saw nothing before."},
		"a Service":           {[]string{"--service=shop/web"}, "Only incidents that affected Service shop/web"},
		"another node":        {[]string{"--node=node-1"}, "kubeflap saw no incidents in this period (incidents that affected node node-1)"},
		"a namespace":         {[]string{"--namespace=shop"}, "## Incident 1: node node-2"},
	} {
		t.Run(name, func(t *testing.T) {
			if out := must(t, append([]string{"report", "--recording", lostNode}, c.args...)...); !strings.Contains(out, c.want) {
				t.Errorf("there is no %q in\n%s", c.want, out)
			}
		})
	}
}

// TestReportsWithWrongFlags checks that each error is one line that names the wrong flag.
func TestReportsWithWrongFlags(t *testing.T) {
	recording := "--recording=" + lostNode
	existing := filepath.Join(t.TempDir(), "report.md")
	if err := os.WriteFile(existing, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for want, args := range map[string][]string{
		`--from: "yesterday" is not a time such as 2026-03-01T12:00:00Z, or a duration such as 2h`: {recording, "--from=yesterday"},
		`--to: "-2h" is not a time`: {recording, "--to=-2h"},
		`--to: 2026-11-23T12:12:12Z is before the start of the period, 2026-11-23T12:12:32Z`: {recording, "--from=10s", "--to=30s"},
		`--from: 2027-01-01T00:00:00Z is after the end of the recording`:                     {recording, "--from=2027-01-01T00:00:00Z"},
		`--to: 2025-01-01T00:00:00Z is before`:                                               {recording, "--to=2025-01-01T00:00:00Z"},
		`--service: "web" is not NAMESPACE/NAME`:                                             {recording, "--service=web"},
		`--service: the recording has no Service shop/wbe`:                                   {recording, "--service=shop/wbe"},
		`--node: the recording has no node node-9`:                                           {recording, "--node=node-9"},
		`--namespace: the recording has no Service in the namespace nope`:                    {recording, "-n", "nope"},
		`--service and --node are mutually exclusive`:                                        {recording, "--service=shop/web", "--node=node-1"},
		`--namespace does not apply to --node`:                                               {recording, "-n", "shop", "--service=shop/web"},
		`--recording and --url are mutually exclusive`:                                       {recording, "--url=http://host:9969"},
		`do not apply to --recording`:                                                        {recording, "--context=prod"},
		`--bounce-window, --endpoints.source and`:                                            {"--url=http://host:9969", "--bounce-window=1m"},
		`--kubeflap-service: "x" is not NAMESPACE/NAME`:                                      {"--kubeflap-service=x"},
		`--url: "host" is not a URL`:                                                         {"--url=host"},
		`--format: "pdf" is not one of markdown, html`:                                       {recording, "--format=pdf"},
		`--output-file: ` + existing + ` already exists`:                                     {recording, "--output-file=" + existing},
		`--output-file: open ` + filepath.Join(existing, "no", "r.md"):                       {recording, "-O", filepath.Join(existing, "no", "r.md")},
		`--recording: open no.jsonl: no such file`:                                           {"--recording=no.jsonl"},
		`--recording: recording report.go, line 1:`:                                          {"--recording=report.go"},
		`--recording: directory .: nothing was recorded in this period`:                      {"--recording=."},
		`--url.config needs --url`:                                                           {"--url.config=x"},
		`--kubeconfig, --context, --cluster, --user and --kubeflap-serv`:                     {"--url=http://host:9969", "--kubeflap-service=a/b"},
	} {
		status, out, errOut := kubeflap(t, append([]string{"report"}, args...)...)
		if status == 0 || out != "" || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%q: status %d, %q, want %q:\n%s", args, status, out, want, errOut)
		}
	}
	if text, err := os.ReadFile(existing); err != nil || string(text) != "mine" {
		t.Errorf("the file was overwritten: %s %v", text, err)
	}
}

func TestTheReportInAFile(t *testing.T) {
	directory := t.TempDir()
	for name, want := range map[string]string{"a.md": "# Post-mortem: node node-2", "b.HTML": "<!doctype html>", "c.htm": "<!doctype html>", "d": "# Post-mortem: node node-2"} {
		file := filepath.Join(directory, name)
		if out := must(t, "report", "--recording", lostNode, "--output-file", file); out != "" {
			t.Errorf("%s: it also prints %s", name, out)
		}
		text, err := os.ReadFile(file)
		if err != nil || !strings.HasPrefix(string(text), want) {
			t.Errorf("%s: %v\n%s", name, err, text)
		}
		if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: %v %v", name, info.Mode(), err)
		}
	}
}

// TestAReportOfADamagedRecording uses a truncated recording, as left by a recorder that was killed, often because of
// the incident.
func TestAReportOfADamagedRecording(t *testing.T) {
	status, out, errOut := kubeflap(t, "report", "--recording", damaged(t, 50))
	if status != 1 || !strings.Contains(errOut, "cut short") {
		t.Errorf("status %d: %s", status, errOut)
	}
	if !strings.Contains(out, "| Damage | only the beginning of the recording could be replayed: recording ") || !strings.Contains(out, "| SHA-256 of the recording |") {
		t.Errorf("the report does not say so:\n%s", out)
	}
}

func TestAReportOfARunningKubeflap(t *testing.T) {
	base := serveIncidents(t, lostNode)
	out := must(t, "report", "--url", base, "--from=2026-11-23T12:12:00Z", "--node=node-2")
	for _, want := range []string{
		"# Post-mortem: node node-2, 2026-11-23", "| Made from | the running kubeflap at http", "| Checksum | none, because ",
		"- `shared_path`: no other node fell silent within 11.5s", "kubeflap watched all resources for the whole period.", "**--node-monitor-grace-period=1m on each kube-controller-manager**",
	} {
		if !strings.Contains(strings.ReplaceAll(out, `\`, ""), want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
	if status, _, errOut := kubeflap(t, "report", "--url", base, "--from=1m"); status != 1 || !strings.Contains(errOut, "--from: ") {
		t.Errorf("the end of the replay is long ago: status %d, %s", status, errOut)
	}
	for flag, want := range map[string]string{
		"--node=nope":         "--node: the kubeflap instance knows neither a node nope nor an incident",
		"--service=shop/nope": "--service: the kubeflap instance knows neither a Service shop/nope nor an incident",
		"--namespace=nope":    "--namespace: the kubeflap instance knows neither a Service in the namespace nope nor an incident",
	} {
		if status, _, errOut := kubeflap(t, "report", "--url", base, flag); status != 1 || !strings.Contains(errOut, want) {
			t.Errorf("%s: status %d, %s", flag, status, errOut)
		}
	}
	all := serveIncidents(t, recorded(t)...)
	if status, _, errOut := kubeflap(t, "report", "--url", all); status != 1 || !strings.Contains(errOut, "--url.cluster: the kubeflap instance serves several clusters: choose one of 1-heartbeat-loss, ") {
		t.Errorf("several clusters: status %d, %s", status, errOut)
	}
	if out := must(t, "report", "--url", all, "--url.cluster=1-heartbeat-loss"); !strings.Contains(out, "| Cluster | 1-heartbeat-loss |") {
		t.Errorf("one of several clusters:\n%s", out)
	}
}

// TestAReportThroughTheAPIServer checks that the report contains the advice from the running kubeflap's metrics, also
// through the API server.
func TestAReportThroughTheAPIServer(t *testing.T) {
	kubeflap := httputil.NewSingleHostReverseProxy(parsed(t, serveIncidents(t, lostNode)))
	const path = "/api/v1/namespaces/monitoring/services/kubeflap:http/proxy"
	server := httptest.NewServer(http.StripPrefix(path, kubeflap))
	t.Cleanup(server.Close)
	kubeconfig := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(kubeconfig, []byte(strings.Replace(validKubeconfig, "http://127.0.0.1:1", server.URL, 1)), 0o600); err != nil {
		t.Fatal(err)
	}
	out := must(t, "report", "--kubeconfig", kubeconfig, "--kubeflap-service=monitoring/kubeflap")
	for _, want := range []string{
		"# Post-mortem: node node-2, 2026-11-23", "Period: all that kubeflap remembers, until 2026-11-23 12:12:42.8 UTC",
		"| Made from | the running kubeflap at context c, Service monitoring/kubeflap", "- **--node-monitor-grace-period=1m on each kube-controller-manager**",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}

func parsed(t *testing.T, address string) *url.URL {
	t.Helper()
	parsed, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	return parsed
}

// TestAReportWithoutMetrics checks that a user who may read incidents but not metrics gets a report that states what is
// missing.
func TestAReportWithoutMetrics(t *testing.T) {
	kubeflap := httputil.NewSingleHostReverseProxy(parsed(t, serveIncidents(t, lostNode)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/metrics" {
			http.Error(w, "no", http.StatusForbidden)
			return
		}
		kubeflap.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	out := must(t, "report", "--url", server.URL)
	for _, want := range []string{"There is no advice on settings: the metrics could not be read: ", "403 Forbidden"} {
		if !strings.Contains(out, want) {
			t.Errorf("there is no %q in\n%s", want, out)
		}
	}
}
