package main

import (
	"bufio"
	"compress/gzip"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/recording"
)

// asReader is a --url.config file with the password of onePassword.
func asReader(t *testing.T) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "url.yml"), "basic_auth: {username: reader, password: sesame}\n")
}

// TestAReportOfAKubeflapWithRecordings checks that the report of a running kubeflap has the same predictions as that of
// its recording.
func TestAReportOfAKubeflapWithRecordings(t *testing.T) {
	reader, err := recording.Open(lostNode)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	clock := recording.NewClock(0)
	p := newPipeline(trackerSettings(), clock.Now, newSilentReporter(""))
	if err := recording.Play(t.Context(), reader.Events(), clock, p.apply); err != nil {
		t.Fatal(err)
	}
	address := startDownloadsOf(t, recordedIn(t, lostNode), webConfig(t, onePassword), p)
	remote := []string{"report", "--url=http://" + address, "--url.config=" + asReader(t)}
	for name, args := range map[string][]string{"everything": nil, "a period": {"--from=2026-11-23T12:12:00Z"}, "a node": {"--node=node-2"}} {
		out := must(t, append(remote, args...)...)
		got, want := predictions(t, out), predictions(t, must(t, "report", "--recording", lostNode))
		if got != want {
			t.Errorf("%s: it predicts\n%s\nwant\n%s", name, got, want)
		}
		for _, want := range []string{"# Post-mortem: node node-2, 2026-11-23", "| Made from | the running kubeflap at http", "**--node-monitor-grace-period=1m on each kube-controller-manager**"} {
			if !strings.Contains(out, want) {
				t.Errorf("%s: there is no %q in\n%s", name, want, out)
			}
		}
	}
	file := filepath.Join(t.TempDir(), "report.html")
	must(t, append(remote, "--output-file="+file)...)
	wrong := write(t, filepath.Join(t.TempDir(), "url.yml"), "basic_auth: {username: reader, password: wrong}\n")
	if status, _, errOut := kubeflap(t, "report", "--url=http://"+address, "--url.config="+wrong); status != 1 || !strings.Contains(errOut, "401 Unauthorized") {
		t.Errorf("with a wrong password: status %d, %s", status, errOut)
	}
}

// TestAReportUsesTheGracePeriodOfTheRunningKubeflap checks that the report predicts with the grace period that is set
// on the running kubeflap, as its page does. The recording has no pod that shows the grace period, as with a managed
// control plane.
func TestAReportUsesTheGracePeriodOfTheRunningKubeflap(t *testing.T) {
	managed := withoutControllerManager(t, lostNode)
	reader, err := recording.Open(managed)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	clock, settings := recording.NewClock(0), trackerSettings()
	settings.tracker.GracePeriod = 24 * time.Second
	p := newPipeline(settings, clock.Now, newSilentReporter(""))
	if err := recording.Play(t.Context(), reader.Events(), clock, p.apply); err != nil {
		t.Fatal(err)
	}
	address := startDownloadsOf(t, recordedIn(t, managed), webConfig(t, onePassword), p)
	got := predictions(t, must(t, "report", "--url=http://"+address, "--url.config="+asReader(t)))
	want := predictions(t, must(t, "report", "--node-monitor-grace-period=24s", "--recording", managed))
	if got != want {
		t.Errorf("it predicts\n%s\nwant\n%s", got, want)
	}
}

// withoutControllerManager writes a copy of a recording without the kube-controller-manager's pods.
func withoutControllerManager(t *testing.T, path string) string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	var kept strings.Builder
	lines := bufio.NewScanner(text)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if !strings.Contains(lines.Text(), `"kube-controller-manager-`) {
			kept.WriteString(lines.Text() + "\n")
		}
	}
	return write(t, filepath.Join(t.TempDir(), "managed.jsonl"), kept.String())
}

// predictions returns the table of predictions of a Markdown report.
func predictions(t *testing.T, report string) string {
	t.Helper()
	_, rest, found := strings.Cut(report, "| grace period | to Unknown |")
	if !found {
		t.Fatalf("the report has no predictions:\n%s", report)
	}
	table, _, _ := strings.Cut(rest, "\n\n")
	return table
}

// TestAReportOfAProcess reports on a kubeflap process that records a live cluster.
func TestAReportOfAProcess(t *testing.T) {
	withoutRaceDetector(t)
	t.Parallel()
	c := newChurning()
	p := startRecordingWith(t, c, filepath.Join(t.TempDir(), "data"), []string{"--web.config.file=" + webConfig(t, onePassword), "--web.enable-recordings"})
	reader := visitor{user: "reader", password: "sesame"}
	ask := func(path string) string {
		_, text, err := reader.ask(t, http.MethodGet, "http://"+p.address+path)
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	within(t, "it watches", func() bool {
		return strings.Contains(ask("/metrics"), `kubeflap_service_addresses{namespace="shop",service="web-3",state="ready"} 1`)
	})
	c.setReady(3, false)
	within(t, "there is an incident", func() bool { return strings.Contains(ask("/api/v1/incidents"), `"service": "web-3"`) })
	c.setReady(3, true)
	within(t, "the incident is recorded", func() bool {
		out := must(t, "report", "--url=http://"+p.address, "--url.config="+asReader(t), "--service=shop/web-3")
		return strings.Contains(out, "# Post-mortem: ") && strings.Contains(out, "shop/web-3") && strings.Contains(out, "There is no prediction for other settings: the recording is too short")
	})
}

// within waits until a condition holds.
func within(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(3 * time.Minute); !holds(); time.Sleep(100 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("after 3 minutes it is not so that %s", what)
		}
	}
}
