package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	toolkit "github.com/prometheus/exporter-toolkit/web"

	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

// addresses is a log handler that sends the listen addresses of servers to a channel.
type addresses struct {
	slog.Handler
	found chan string
}

func (a addresses) Enabled(context.Context, slog.Level) bool { return true }

func (a addresses) Handle(_ context.Context, r slog.Record) error {
	r.Attrs(func(x slog.Attr) bool {
		if x.Key == "address" && strings.HasPrefix(strings.ToLower(r.Message), "listening") {
			a.found <- x.Value.String()
		}
		return true
	})
	return nil
}

func allWatched() []watches.Watch { return nil }

func listening() (program, chan string) {
	a := addresses{slog.DiscardHandler, make(chan string, 10)}
	return program{logger: slog.New(a), out: io.Discard}, a.found
}

// startWith serves the pages with a web configuration, like the run command. It returns the address.
func startWith(t *testing.T, config string, profiles bool) string {
	t.Helper()
	p, found := listening()
	pages := pagesOf(newPipeline(trackerSettings(), time.Now, silent))
	pages.Unready, pages.Profiles = allWatched, profiles
	untilTheEnd(t, func(ctx context.Context) error { return serve(ctx, p, listenFlags(config), pages, nil) })
	return <-found
}

// startProbes serves the probes and returns the address.
func startProbes(t *testing.T) string {
	t.Helper()
	p, found := listening()
	untilTheEnd(t, func(ctx context.Context) error {
		return serveProbes(ctx, p, "127.0.0.1:0", allWatched)
	})
	return <-found
}

func trackerSettings() settings {
	s := defaultSettings()
	s.incidents = 10
	return s
}

// untilTheEnd runs a server until the test ends.
func untilTheEnd(t *testing.T, run func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
}

// visitor is a client with credentials. It opens a new connection for each request.
type visitor struct{ user, password string }

func (v visitor) ask(t *testing.T, method, url string) (*http.Response, string, error) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(t.Context(), method, url, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	if v.user != "" {
		request.SetBasicAuth(v.user, v.password)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, "", err //nolint:wrapcheck // the test looks at it
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response, string(text), nil
}

// status returns the status code of the response, or 0 if there was no response.
func (v visitor) status(t *testing.T, url string) int {
	t.Helper()
	response, _, err := v.ask(t, http.MethodGet, url)
	if err != nil {
		t.Log(err)
		return 0
	}
	return response.StatusCode
}

// listenFlags returns the flags of a web server at any port, with a web configuration.
func listenFlags(config string) *toolkit.FlagConfig {
	systemd := false
	return &toolkit.FlagConfig{WebListenAddresses: &[]string{"127.0.0.1:0"}, WebSystemdSocket: &systemd, WebConfigFile: &config}
}

// answering starts a server that gives the same answer to each request, and returns its URL.
func answering(t *testing.T, answer string) string {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, answer)
	}))
	t.Cleanup(server.Close)
	return server.URL
}

// kubeconfigFor writes a kubeconfig with this server, and returns its path.
func kubeconfigFor(t *testing.T, server string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "kubeconfig"), strings.Replace(validKubeconfig, "http://127.0.0.1:1", server, 1))
}

var everyPage = []string{"/", "/flaps", "/flaps.css", "/flaps.js", "/api/v1/incidents", "/metrics", "/-/healthy", "/-/ready"}

func write(t *testing.T, path, text string) string {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func webConfig(t *testing.T, text string) string {
	t.Helper()
	return write(t, filepath.Join(t.TempDir(), "web.yaml"), text)
}

// The password of the user "reader" is "sesame".
const onePassword = "basic_auth_users: {reader: $2a$04$FUStkKMmFCkRjMTCyxnaoOrrVn4edJmpot2scupIO4lSmjpnXwFfG}\n"

// TestProbePortAnswersNothingElse checks that the probe address serves the probes without credentials, and nothing
// else.
func TestProbePortAnswersNothingElse(t *testing.T) {
	address := startProbes(t)
	for _, page := range append(everyPage, "/debug/pprof/", "/-/", "/-/reload", "/-/quit") {
		want := http.StatusNotFound
		if page == "/-/healthy" || page == "/-/ready" {
			want = http.StatusOK
		}
		if got := (visitor{}).status(t, "http://"+address+page); got != want {
			t.Errorf("%s is answered with %d, want %d", page, got, want)
		}
	}
}

// TestProbesAreAnsweredDuringTheReplay starts kubeflap with a recording that is not read to its end yet: it is a pipe.
func TestProbesAreAnsweredDuringTheReplay(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "20260301T120000.000000Z-000001.jsonl.gz")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	command, err := newCommandLine(calledAs("kubeflap"), io.Discard, io.Discard).parse([]string{
		"run", "--kubeconfig=" + kubeconfigFor(t, "http://127.0.0.1:1"), "--data.dir=" + dir, "--web.listen-address=127.0.0.1:0", "--web.probe-address=127.0.0.1:0",
	})
	if err != nil {
		t.Fatal(err)
	}
	p, found := listening()
	untilTheEnd(t, func(ctx context.Context) error {
		p.ctx = ctx
		return command(p)
	})
	writer, err := os.OpenFile(pipe, os.O_WRONLY, 0) // returns when kubeflap reads
	if err != nil {
		t.Fatal(err)
	}
	probes := "http://" + <-found
	expect := func(when string) {
		t.Helper()
		if got := (visitor{}).status(t, probes+"/-/healthy"); got != http.StatusOK {
			t.Errorf("%s, /-/healthy is answered with %d", when, got)
		}
		if got := (visitor{}).status(t, probes+"/-/ready"); got != http.StatusServiceUnavailable {
			t.Errorf("%s, /-/ready is answered with %d", when, got)
		}
	}
	expect("during the replay")
	if err := errors.Join(os.Remove(pipe), writer.Close()); err != nil {
		t.Fatal(err)
	}
	if got := (visitor{}).status(t, "http://"+<-found+"/metrics"); got != http.StatusOK {
		t.Errorf("after the replay, /metrics is answered with %d", got)
	}
	expect("before the first lists")
}

func TestABrokenWebConfigIsOneErrorBeforeAnythingListens(t *testing.T) {
	kubeconfig := kubeconfigFor(t, "http://127.0.0.1:1")
	for name, text := range map[string]string{
		"no YAML":             "tls_server_config: {",
		"an unknown field":    "tls_server_confg: {}\nbasic_auth_user: {}\n",
		"a file not there":    "tls_server_config: {cert_file: nowhere.pem, key_file: nowhere.key}",
		"a password in clear": "basic_auth_users: {reader: sesame}",
	} {
		config := webConfig(t, text)
		for _, command := range [][]string{{"run", "--kubeconfig=" + kubeconfig}, {"replay", story}, {"demo"}} {
			status, out, errOut := kubeflap(t, append(command, "--web.listen-address=127.0.0.1:0", "--web.config.file="+config)...)
			if status != 1 || out != "" || strings.Count(errOut, "\n") != 1 || !strings.HasPrefix(errOut, "kubeflap: --web.config.file="+config+": ") {
				t.Errorf("%s, %s: status %d, want 1 and one line that names the file:\n%s%s", name, command[0], status, out, errOut)
			}
		}
	}
}
