package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/config"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
)

// remote is a running kubeflap at a URL.
type remote struct{ url, config, cluster string }

const (
	// remoteTimeout bounds the whole request; a large cluster's metrics take a second or two.
	remoteTimeout = 30 * time.Second
	// remoteLimit bounds the answer. The metrics of the largest clusters are far smaller.
	remoteLimit = 1 << 30
)

// read fetches the metrics. Every error names the URL or the file that is wrong.
func (r *remote) read(ctx context.Context) ([]*dto.MetricFamily, error) {
	client, err := r.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, r.metricsURL(), http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("fetch the metrics: %w", err)
	}
	request.Header.Set("Accept", string(expfmt.NewFormat(expfmt.TypeTextPlain)))
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("fetch the metrics: %w", err)
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("%s answers %s", request.URL.Redacted(), response.Status)
	}
	families, err := parseMetrics(io.LimitReader(response.Body, remoteLimit))
	if err != nil {
		return nil, fmt.Errorf("%s does not answer with metrics: %w", request.URL.Redacted(), err)
	}
	return families, nil
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

// metricsURL returns the URL as given if it ends in /metrics, else with /metrics appended.
func (r *remote) metricsURL() string {
	if strings.HasSuffix(r.url, "/metrics") {
		return r.url
	}
	return strings.TrimSuffix(r.url, "/") + "/metrics"
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
