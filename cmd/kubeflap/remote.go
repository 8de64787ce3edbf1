package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// remote is a running kubeflap at a URL.
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
	// remoteTimeout bounds the whole request; a large cluster's metrics take a second or two.
	remoteTimeout = 30 * time.Second
	// remoteLimit bounds the answer. The metrics of the largest clusters are far smaller.
	remoteLimit = 1 << 30
)

// readMetrics fetches the metrics. Every error names the URL or the file that is wrong.
func (r *remote) readMetrics(ctx context.Context) (families []*dto.MetricFamily, err error) {
	err = r.get(ctx, r.address("/metrics"), string(expfmt.NewFormat(expfmt.TypeTextPlain)), func(body io.Reader) error {
		if families, err = parseMetrics(body); err != nil {
			return fmt.Errorf("does not answer with metrics: %w", err)
		}
		return nil
	})
	return families, err
}

// get requests the address with the given Accept header, and passes the response body to read.
func (r *remote) get(ctx context.Context, address, accept string, read func(io.Reader) error) error {
	client, err := r.client()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, http.NoBody)
	if err != nil {
		return fmt.Errorf("read --url: %w", err)
	}
	request.Header.Set("Accept", accept)
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("read --url: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("%s answers %s", request.URL.Redacted(), response.Status)
	}
	if err := read(io.LimitReader(response.Body, remoteLimit)); err != nil {
		return fmt.Errorf("%s %w", request.URL.Redacted(), err)
	}
	return nil
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

// address returns the URL as given if it ends in the path, else with the path appended.
func (r *remote) address(path string) string {
	if strings.HasSuffix(r.url, path) {
		return r.url
	}
	return strings.TrimSuffix(r.url, "/") + path
}

func parseMetrics(text io.Reader) ([]*dto.MetricFamily, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	byName, err := parser.TextToMetricFamilies(text)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says whose metrics they are
	}
	families := make([]*dto.MetricFamily, 0, len(byName))
	for _, family := range byName {
		families = append(families, family)
	}
	return families, nil
}
