package main

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// predicted returns the output of whatif for a recording, without the recording's name.
func predicted(t *testing.T, args ...string) string {
	t.Helper()
	_, rest, found := strings.Cut(must(t, append([]string{"whatif", "--node-monitor-grace-period=20s,40s"}, args...)...), ": ")
	if !found {
		t.Fatal("the answer names no recording")
	}
	return rest
}

// TestWhatIfReadsADirectoryAndAURL checks that a directory of --data.dir and a kubeflap that serves it produce the same
// answer as the recording.
func TestWhatIfReadsADirectoryAndAURL(t *testing.T) {
	dir := recordedStory(t)
	want := predicted(t, "--recording", story)
	if got := predicted(t, "--recording", dir); got != want {
		t.Errorf("the directory:\n%s\nwant\n%s", got, want)
	}
	address := startDownloads(t, dir, webConfig(t, onePassword))
	config := write(t, filepath.Join(t.TempDir(), "http.yml"), "basic_auth: {username: reader, password: sesame}\n")
	if got := predicted(t, "--url=http://"+address, "--url.config="+config); got != want {
		t.Errorf("the URL:\n%s\nwant\n%s", got, want)
	}
	const from, to = "--from=2026-03-01T12:00:10Z", "--to=2026-03-01T12:00:20Z"
	part := predicted(t, "--recording", dir, from, to)
	if part == want || predicted(t, "--url=http://"+address+"/api/v1/recording", "--url.config="+config, from, to) != part {
		t.Errorf("a period of the directory and of the URL differ:\n%s", part)
	}
	if a, b := predicted(t, "--recording", dir, "--from=5s"), predicted(t, "--recording", dir); a == b {
		t.Error("a duration that counts back changes nothing")
	}
}

func TestWhatIfOnSourcesThatFail(t *testing.T) {
	dir := recordedStory(t)
	address := startDownloads(t, dir, webConfig(t, onePassword))
	config := write(t, filepath.Join(t.TempDir(), "http.yml"), "basic_auth: {username: reader, password: sesame}\n")
	withURL := []string{"--url=http://reader:geheim@" + address}
	authenticated := []string{"--url=http://" + address, "--url.config=" + config}
	for want, args := range map[string][]string{
		"select a recording with --recording or --url":                             nil,
		"--recording and --url are mutually exclusive":                             {"--recording=" + story, "--url=http://" + address},
		"--url.config needs --url":                                                 {"--recording=" + story, "--url.config=" + config},
		"--from and --to need --url or a --data.dir directory":                     {"--recording=" + story, "--from=1h"},
		`--url: "host" is not a URL`:                                               {"--url=host"},
		`--from: "then" is not a time`:                                             {"--url=http://host", "--from=then"},
		"reader:xxxxx@" + address + "/api/v1/recording?from=1970-01-01T00%3A00%3A": withURL,
		"responded with 401 Unauthorized":                                          withURL,
		"404 Not Found: nothing was recorded in this period: from 2030-01":         append(authenticated, "--from=2030-01-01T00:00:00Z", "--to=2030-01-02T00:00:00Z"),
		"--from: 2199-01-02T00:00:00Z is in the future: it is now 2":               append(authenticated, "--from=2199-01-02T00:00:00Z"),
		"--from: 2199-01-02T00:00:00Z is after the end of the recordings, 2026-03": {"--recording=" + dir, "--from=2199-01-02T00:00:00Z"},
		"--to is before --from":                                                    append(authenticated, "--from=2026-01-02T00:00:00Z", "--to=2026-01-01T00:00:00Z"),
		"the kubeflap instance must run with --web.enable-recordings":              {"--url=" + serveIncidents(t, lostNode)},
		"nothing was recorded in this period: the directory has no recordings":     {"--recording=" + t.TempDir()},
	} {
		status, out, errOut := kubeflap(t, append([]string{"whatif", "--log.level=error"}, args...)...)
		if status == 0 || out != "" || !strings.Contains(errOut, want) || strings.Count(errOut, "\n") != 1 {
			t.Errorf("%q: status %d, printed %q, want %q:\n%s", args, status, out, want, errOut)
		}
		if strings.Contains(errOut, "geheim") {
			t.Errorf("the error shows the password: %s", errOut)
		}
	}
}

// TestWhatIfOnABrokenConnection checks that whatif uses the events that arrived, and reports the truncated recording.
func TestWhatIfOnABrokenConnection(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		text, err := os.ReadFile(lostNode)
		if err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/gzip")
		_, _ = w.Write(text[:len(text)/2])
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	}))
	t.Cleanup(server.Close)
	status, out, errOut := kubeflap(t, "whatif", "--log.level=error", "--url", server.URL)
	if status != 1 || !strings.Contains(out, "the recording is too short: it covers 25ms") || !strings.Contains(errOut, "cut short") {
		t.Errorf("status %d, printed %q, and: %s", status, out, errOut)
	}
}
