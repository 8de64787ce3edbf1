package main

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
)

const incidentsDir = "../../exporter/recording/incidents/"

// recorded returns the paths of the five recorded incidents.
func recorded(t *testing.T) (files []string) {
	t.Helper()
	files, err := filepath.Glob(incidentsDir + "*.jsonl.gz")
	if err != nil || len(files) != 5 {
		t.Fatalf("want five incidents, have %v %v", files, err)
	}
	return files
}

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
		t.Errorf("%s differs (go test ./cmd/kubeflap -update); got:\n%s", path, got)
	}
}

// TestAdviceOnTheRecordedIncidents compares the texts with files, and the JSON of the first recording, which has all fields
// apart from those of the last ones.
func TestAdviceOnTheRecordedIncidents(t *testing.T) {
	fields := map[string]string{"4-endpoints-reset": "\"namespace\": \"kube-system\",\n      \"service\": \"kube-scheduler\"", "5-batch-upgrade": `"services": [`}
	for _, file := range recorded(t) {
		name := strings.TrimSuffix(filepath.Base(file), ".jsonl.gz")
		advice := func(form string) string {
			status, out, errOut := kubeflap(t, "advise", "--recording", file, "--output", form)
			if status != 3 || errOut != "" {
				t.Errorf("%s: status %d, want 3: %s", name, status, errOut)
			}
			return out
		}
		golden(t, "testdata/advise/"+name+".txt", advice("text"))
		text := advice("json")
		if strings.HasPrefix(name, "1-") {
			golden(t, "testdata/advise/"+name+".json", text)
		}
		if !strings.Contains(text, fields[name]) {
			t.Errorf("%s has no %s:\n%s", name, fields[name], text)
		}
	}
}

// TestAdviceOnTheRecordingsOfTheLab names what the scenarios did to the control plane, and nothing else, as the cause.
func TestAdviceOnTheRecordingsOfTheLab(t *testing.T) {
	for name, want := range map[string]string{
		"control-plane-stall@v1.31.0":        "control_plane_late 1,2,3,4",
		"control-plane-stall@v1.37.2":        "control_plane_late 1,2,3,4",
		"circuit-breaker-open@v1.37.2":       "controller_manager_slow 2",
		"controller-manager-stale@v1.31.0":   "controller_manager_slow 1,2,3,4",
		"controller-manager-stale@v1.37.2":   "",
		"controller-manager-stopped@v1.31.0": "controller_manager_slow 1,2,3",
		"controller-manager-stopped@v1.37.2": "",
		"maintenance@v1.37.2":                "",
	} {
		if got := findings(adviceOn(t, "testdata/lab/"+name+".jsonl.gz")); got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
}

// adviceOn returns the advice from a recording.
func adviceOn(t *testing.T, file string) report.Report {
	t.Helper()
	settings := defaultSettings()
	given, err := (&adviser{instance: instance{recording: file, settings: &settings}}).read(program{ctx: t.Context(), logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return given
}

func TestAdviceOfARunningKubeflapEqualsAdviceFromEvents(t *testing.T) {
	for _, file := range recorded(t) {
		url := serveIncidents(t, file)
		for _, form := range []string{"text", "json"} {
			_, want, _ := kubeflap(t, "advise", "--recording", file, "--output", form)
			status, got, errOut := kubeflap(t, "advise", "--url", url, "--output", form)
			if status != 3 || got != want {
				t.Errorf("%s: status %d %s, and\n%s\nwant\n%s", file, status, errOut, got, want)
			}
		}
	}
}

func TestAdviceOnOneOfSeveralClusters(t *testing.T) {
	files := recorded(t)
	url := serveIncidents(t, files...)
	_, want, _ := kubeflap(t, "advise", "--recording", files[1])
	status, got, errOut := kubeflap(t, "advise", "--url", url, "--url.cluster", "2-control-plane-stall")
	if status != 3 || got != want {
		t.Errorf("status %d %s, and\n%s\nwant\n%s", status, errOut, got, want)
	}
	for cluster, want := range map[string]string{"": "set the parameter cluster to one of 1-heartbeat-loss, ", "x": `"x" is not one of 1-heartbeat-loss, `} {
		status, _, errOut = kubeflap(t, "advise", "--url", url, "--url.cluster", cluster)
		if status != 1 || !strings.Contains(errOut, want) {
			t.Errorf("cluster %q: status %d: %s", cluster, status, errOut)
		}
	}
}

// TestAdviceCannotControlTheTerminal checks that the text of another server is escaped.
func TestAdviceCannotControlTheTerminal(t *testing.T) {
	url := answering(t, `{"version": 1, "findings": [{"kind": "red \u001b[31m", "why": "\u202e"}]}`)
	for form, want := range map[string]string{"text": `red \x1b[31m`, "json": `red \u001b[31m`} {
		status, out, errOut := kubeflap(t, "advise", "--url", url, "--output", form)
		if status != 0 || !strings.Contains(out, want) || !strings.Contains(out, `\u202e`) {
			t.Errorf("status %d %s, and\n%s", status, errOut, out)
		}
	}
}

func TestAdviceFromAKubeflapWithAPassword(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, password, _ := r.BasicAuth(); password != "sesame" {
			http.Error(w, "who are you", http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, `{"version": 1, "advice": true}`)
	}))
	t.Cleanup(server.Close)
	dir := t.TempDir()
	settings := write(t, filepath.Join(dir, "http.yml"), "basic_auth: {username: me, password_file: password}\n")
	write(t, filepath.Join(dir, "password"), "sesame\n")
	if status, _, errOut := kubeflap(t, "advise", "--url", server.URL+"/secret", "--url.config", settings); status != 3 {
		t.Errorf("status %d: %s", status, errOut)
	}
	status, _, errOut := kubeflap(t, "advise", "--url", server.URL+"/secret")
	if want := server.URL + "/secret/api/v1/advice responded with 401"; status != 1 || !strings.Contains(errOut, want) {
		t.Errorf("status %d, want 1 and %q: %s", status, want, errOut)
	}
}

func TestHealthyClusterNeedsNoAdvice(t *testing.T) {
	status, out, errOut := kubeflap(t, "advise", "--url", answering(t, `{"version": 1}`))
	if status != 0 || !strings.Contains(out, "Nothing to advise.") {
		t.Errorf("status %d: %s\n%s", status, errOut, out)
	}
}

func TestAdviseGivesUpOnAnUnreadyCluster(t *testing.T) {
	unready := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) }))
	t.Cleanup(unready.Close)
	status, _, errOut := kubeflap(t, "advise", "--log.level=error", "--for=200ms", "--kubeconfig", kubeconfigFor(t, unready.URL))
	if status != 1 || !strings.Contains(errOut, "--for=200ms") {
		t.Errorf("status %d: %s", status, errOut)
	}
}

// shown returns a pattern for documented code blocks that show a file of testdata. A comment above the block contains
// the file name.
func shown() *regexp.Regexp {
	return regexp.MustCompile("(?s)<!-- (testdata/\\S+) -->\n```(\\w+)\n.*?```")
}

// TestDocumentedOutputIsReal checks that the docs show the real output for the recorded incidents.
func TestDocumentedOutputIsReal(t *testing.T) {
	for path, outputs := range map[string]int{"../../docs/advise.md": 1, "../../docs/terminal.md": 2} {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(shown().FindAll(page, -1)); n != outputs {
			t.Errorf("%s shows %d outputs, want %d", path, n, outputs)
		}
		golden(t, path, shown().ReplaceAllStringFunc(string(page), func(block string) string {
			parts := shown().FindStringSubmatch(block)
			output := fileText(t, parts[1])
			if strings.Contains(block, "\n...\n```") { // the page shows the beginning, with as many lines as now
				lines := strings.SplitAfter(output, "\n")
				output = strings.Join(lines[:min(len(lines), strings.Count(block, "\n")-3)], "") + "...\n"
			}
			return fmt.Sprintf("<!-- %s -->\n```%s\n%s```", parts[1], parts[2], output)
		}))
	}
}
