package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// addURLFlags adds the flags for a running kubeflap at a URL, with the help texts of --url and --url.cluster.
func (i *instance) addURLFlags(cmd *kingpin.CmdClause, read, cluster string) {
	addFlag(cmd, "url", read, &i.url, parseURL)
	cmd.Flag("url.config", "File with TLS and authentication settings for --url, in the format of Prometheus: "+
		"https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config").StringVar(&i.config)
	cmd.Flag("url.cluster", cluster).StringVar(&i.urlCluster)
}

const (
	// remoteTimeout is the maximum duration of a request, including the response.
	remoteTimeout = 30 * time.Second
	// remoteLimit is the maximum size of a response in bytes.
	remoteLimit = 1 << 30
)

// get fetches a JSON document. Errors contain the affected URL or file.
func (i *instance) get(ctx context.Context, path string, query url.Values) ([]byte, error) {
	client, err := i.client()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, remoteTimeout)
	defer cancel()
	address := i.url.JoinPath(path)
	address.RawQuery = query.Encode()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address.String(), http.NoBody)
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
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, remoteLimit))
	switch {
	case err != nil:
		return nil, fmt.Errorf("%s: %w", address.Redacted(), err)
	case response.StatusCode != http.StatusOK:
		var failure struct{ Error string }
		_ = json.Unmarshal(text, &failure) // if the text is not from kubeflap, only the status is reported
		return nil, errors.New(strings.TrimSuffix(address.Redacted()+" responded with "+response.Status+": "+phrase.Line(failure.Error), ": "))
	}
	return text, nil
}

func (i *instance) client() (*http.Client, error) {
	settings := config.DefaultHTTPClientConfig
	if i.config != "" {
		loaded, _, err := config.LoadHTTPConfigFile(i.config)
		if err != nil {
			return nil, fmt.Errorf("--url.config=%s: %w", i.config, err)
		}
		settings = *loaded
	}
	client, err := config.NewClientFromConfig(settings, "kubeflap")
	if err != nil {
		return nil, fmt.Errorf("--url.config=%s: %w", i.config, err)
	}
	return client, nil
}
