package main

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// recordedIn returns a directory with what a flight recorder kept of a recording.
func recordedIn(t *testing.T, file string) (dir string) {
	t.Helper()
	dir = t.TempDir()
	recordAll(t, dir, nil, eventsOf(t, file))
	return dir
}

// recordAll lets a flight recorder record events into a directory. The head may be nil.
func recordAll(t *testing.T, dir string, head func(time.Time) json.RawMessage, events []event.Event) {
	t.Helper()
	r, err := flightrecorder.New(flightrecorder.Settings{Dir: dir, Size: 1 << 30, Age: 1e6 * time.Hour, Head: head}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range events {
		r.Record(e)
	}
	ended, stop := context.WithCancel(t.Context())
	stop() // stop writes the queued events
	if err := r.Run(ended); err != nil {
		t.Fatal(err)
	}
}

// eventsOf returns the events of a recording.
func eventsOf(t *testing.T, file string) (all []event.Event) {
	t.Helper()
	recorded, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range recorded.Events() {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	recorded.Close()
	return all
}

func metricsOf(t *testing.T, args ...string) string {
	t.Helper()
	status, out, errOut := kubeflap(t, append([]string{"replay", "--once"}, args...)...)
	if status != 0 {
		t.Fatalf("replay %v: status %d: %s", args, status, errOut)
	}
	return inOrder(t, out)
}

func TestRecordingsNeedAuthentication(t *testing.T) {
	for name, test := range map[string]struct{ config, want string }{
		"a password":               {onePassword, ""},
		"a verified certificate":   {"tls_server_config: {client_auth_type: RequireAndVerifyClientCert}\n", ""},
		"any certificate":          {"tls_server_config: {client_auth_type: RequireAnyClientCert}\n", "set basic_auth_users"},
		"a certificate if given":   {"tls_server_config: {client_auth_type: VerifyClientCertIfGiven}\n", "set basic_auth_users"},
		"only TLS":                 {"tls_server_config: {cert_file: cert.pem, key_file: key.pem}\n", "set basic_auth_users"},
		"no user":                  {"basic_auth_users: {}\n", "set basic_auth_users"},
		"an empty configuration":   {"", "set basic_auth_users"},
		"a configuration that is":  {"basic_auth_users: [", "cannot read"},
		"certificates that cannot": {"tls_server_config: {client_auth_type: NoClientCert}\n", "set basic_auth_users"},
	} {
		err := checkAuthentication(webConfig(t, test.config))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
	}
}

func TestDownloadOfARecording(t *testing.T) {
	config, original := webConfig(t, onePassword), named(t, fileText(t, story))
	address := startDownloads(t, recordedIn(t, original), config)
	reader := visitor{user: "reader", password: "sesame"}
	for query, want := range map[string]struct {
		status int
		text   string
	}{
		"":                                   {400, "parameter from is missing"},
		"?from=then":                         {400, "parameter from: "},
		"?from=1&from=2":                     {400, "parameter from occurs 2 times"},
		"?from=1&node=a":                     {400, `unknown parameter "node"`},
		"?from=1&anonymise=maybe":            {400, "parameter anonymise: "},
		"?from=9&to=8":                       {400, `parameter "to" is before "from"`},
		"?from=2030-01-01T00:00:00Z&to=2e9":  {400, "parameter to: "},
		"?from=2025-01-01T00:00:00Z&to=1736": {400, `parameter "to" is before "from"`},
		"?from=2199-01-01T00:00:00Z":         {400, `parameter "from" is in the future: it is now 2`},
		"?from=1&to=2":                       {404, "nothing was recorded from 1970-01-01T00:00:01Z until 1970-01-01T00:00:02Z"},
	} {
		response, text, err := reader.ask(t, http.MethodGet, "http://"+address+"/api/v1/recording"+query)
		if err != nil || response.StatusCode != want.status || !strings.Contains(text, want.text) {
			t.Errorf("%q: %v %v %q, want %+v", query, response, err, text, want)
		}
	}
	const whole = "/api/v1/recording?from=2026-03-01T11:00:00Z&to=2026-03-02T00:00:00Z"
	if got := (visitor{}).status(t, "http://"+address+whole); got != http.StatusUnauthorized {
		t.Errorf("without a password: %d", got)
	}
	download := func(query string) string {
		response, text, err := reader.ask(t, http.MethodGet, "http://"+address+whole+query)
		if err != nil || response.StatusCode != http.StatusOK || response.Header.Get("Content-Type") != "application/gzip" || strings.Contains(fmt.Sprint(response.Header), realName) {
			t.Fatalf("%v %v %.200s", response, err, text)
		}
		return write(t, filepath.Join(t.TempDir(), "download.jsonl.gz"), text)
	}
	file := download("")
	if metricsOf(t, file) != metricsOf(t, original) {
		t.Error("the download gives other metrics than the story")
	}
	checkHeader(t, file)
	plain, anonymous := string(unzip(t, file)), string(unzip(t, download("&anonymise")))
	checkAnonymised(t, anonymous, plain)
	if !strings.Contains(anonymous, `"anonymised":true`) || strings.Count(anonymous, "\n") != strings.Count(plain, "\n") {
		t.Errorf("with real names\n%s\nwith pseudonyms\n%s", plain, anonymous)
	}
	write(t, config, "")
	if got := reader.status(t, "http://"+address+whole); got != http.StatusForbidden {
		t.Errorf("after the password was removed from the configuration: %d, want 403", got)
	}
}

// checkHeader checks that a recording of a period that begins before the first event has the time of this event, and
// the version of the API server.
func checkHeader(t *testing.T, file string) {
	t.Helper()
	reader, err := recording.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for ev, err := range reader.Events() {
		if err != nil {
			t.Fatal(err)
		}
		if h := reader.Header(); !h.Recorded.Equal(ev.Seen) || h.Kubernetes == "" {
			t.Errorf("header %+v, want the time of the first event, %v", h, ev.Seen)
		}
		break
	}
}

// startDownloads serves the recordings in a directory, like kubeflap with --web.enable-recordings.
func startDownloads(t *testing.T, dir, config string) string {
	t.Helper()
	p, found := listening()
	flags := listenFlags(config)
	handler, err := newDownloadHandler(dir, flags, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	pages := pagesOf(newPipeline(trackerSettings(), time.Now, silent))
	pages.Recordings = handler
	untilTheEnd(t, func(ctx context.Context) error { return serve(ctx, p, flags, pages, nil) })
	return <-found
}
