package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// remote holds the flags for a running kubeflap at a URL.
type remote struct{ url, config, cluster string }

func (r *remote) addFlags(cmd *kingpin.CmdClause, read, cluster string) {
	cmd.Flag("url", read).StringVar(&r.url)
	cmd.Flag("url.config", "File with TLS and authentication settings for --url, in the format of Prometheus: "+
		"https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config").StringVar(&r.config)
	cmd.Flag("url.cluster", cluster).StringVar(&r.cluster)
}

func (r *remote) validate() error {
	if r.url == "" {
		return nil
	}
	if parsed, err := url.Parse(r.url); err != nil || parsed.Host == "" {
		return fmt.Errorf("--url: %q is not a URL such as http://host:9969", r.url)
	}
	return nil
}

const (
	// remoteTimeout is the maximum duration of a request, including the response.
	remoteTimeout = 30 * time.Second
	// remoteLimit is the maximum size of a response in bytes.
	remoteLimit = 1 << 30
)

// get fetches a JSON document. Errors contain the affected URL or file.
func (r *remote) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	address := r.address(path)
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	response, err := r.request(ctx, address)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, remoteLimit))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", response.Request.URL.Redacted(), err)
	}
	return text, nil
}

// request sends a GET request for JSON to a URL. The returned response has status 200. The caller
// must close its body.
func (r *remote) request(ctx context.Context, address string) (*http.Response, error) {
	client, err := r.client()
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("read --url: %w", err)
	}
	request.Header.Set("Accept", "application/json")
	response, err := client.Do(request)
	var failed *url.Error
	if errors.As(err, &failed) && ctx.Err() == nil {
		return nil, fmt.Errorf("--url: there is no response from %s: %w. Check that kubeflap serves this address", failed.URL, failed.Err)
	}
	if err != nil {
		return nil, fmt.Errorf("read --url: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		defer response.Body.Close()
		return nil, &statusError{request.URL.Redacted(), response.Status, response.StatusCode, reasonIn(response)}
	}
	return response, nil
}

// statusError is a response with a status other than 200. `text` is kubeflap's error message, or empty.
type statusError struct {
	url, status string
	code        int
	text        string
}

// Error implements error.
func (e *statusError) Error() string {
	text := e.url + " responded with " + e.status
	if e.text != "" {
		text += ": " + e.text
	}
	return text
}

// reasonIn returns kubeflap's error message from a response. In a plain text response, the message is the first line.
// reasonIn ignores a line that only repeats the status.
func reasonIn(response *http.Response) string {
	if strings.HasPrefix(response.Header.Get("Content-Type"), "application/json") {
		var failure struct{ Error string }
		_ = json.NewDecoder(io.LimitReader(response.Body, 10_000)).Decode(&failure) // on error, only the status is reported
		return phrase.Line(failure.Error)
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "text/plain") {
		return ""
	}
	text, _ := io.ReadAll(io.LimitReader(response.Body, 300)) // on error, only the status is reported
	line, _, _ := strings.Cut(string(text), "\n")
	if strings.HasPrefix(line, strconv.Itoa(response.StatusCode)) || line == http.StatusText(response.StatusCode) {
		return ""
	}
	return phrase.Line(line)
}

func (r *remote) client() (*http.Client, error) {
	settings := config.DefaultHTTPClientConfig
	if r.config != "" {
		loaded, _, err := config.LoadHTTPConfigFile(r.config)
		if err != nil {
			return nil, fmt.Errorf("--url.config=%s: %w", r.config, err)
		}
		settings = *loaded
	}
	client, err := config.NewClientFromConfig(settings, "kubeflap")
	if err != nil {
		return nil, fmt.Errorf("--url.config=%s: %w", r.config, err)
	}
	return client, nil
}

// address returns kubeflap's URL for a path. It first removes known paths such as /metrics from --url.
func (r *remote) address(path string) string {
	base, _, _ := strings.Cut(r.url, "?")
	for _, known := range []string{"/metrics", "/flaps", api.Path, api.AdvicePath, web.RecordingPath} {
		base = strings.TrimSuffix(base, known)
	}
	return strings.TrimSuffix(base, "/") + path
}

// redacted returns a URL without the password.
func redacted(address string) string {
	parsed, err := url.Parse(address)
	if err != nil {
		return "--url"
	}
	return parsed.Redacted()
}
