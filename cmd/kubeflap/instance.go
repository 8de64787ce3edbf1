package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/config"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// instance holds the flags for a running kubeflap, either in the cluster of the kubeconfig or at a URL. Some commands read a
// live cluster or a recording instead.
type instance struct {
	cluster *clusterFlags
	// `recording` is a recording or a --data.dir directory. `settings` apply to it and to a live cluster.
	recording string
	settings  *settings
	// `service` is kubeflap's Service. If it is empty, the command looks for it.
	service apiclient.Service
	// `id` selects a single incident.
	id string
	// `url` is the URL of kubeflap, or nil. `config` is a file with TLS and authentication settings. `urlCluster` is one of
	// the clusters of that kubeflap.
	url                *url.URL
	config, urlCluster string
	between            period
	// sourceName describes the kubeflap instance or the recording that the incidents come from.
	sourceName string
}

func (i *instance) addFlags(cmd *kingpin.CmdClause) {
	i.cluster = addClusterFlags(cmd, "List only incidents that affected a Service in this namespace.")
	addFlag(cmd, "service", "kubeflap's Service, as NAMESPACE/NAME or NAMESPACE/NAME:PORT. By default, the command looks for a Service with the label app.kubernetes.io/name=kubeflap.",
		&i.service, apiclient.ParseService).PlaceHolder("NAMESPACE/NAME[:PORT]")
	i.addURLFlags(cmd, "Read from the kubeflap instance at this URL, such as http://host:9969.", "List only incidents of this cluster, if the kubeflap instance serves several clusters.")
}

// addSources adds the flags of a live cluster, of a recording and of a running kubeflap at a URL, for a command that reads
// one of them.
func (i *instance) addSources(cmd *kingpin.CmdClause) {
	i.cluster = addClusterFlags(cmd, watchedNamespace)
	cmd.Flag("recording", "Read a recording or a --data.dir directory, instead of a live cluster.").PlaceHolder("FILE").StringVar(&i.recording)
	i.addURLFlags(cmd, "Read from the running kubeflap instance at this URL, such as http://host:9969, instead of a live cluster.",
		"The cluster, if the kubeflap instance at --url serves several clusters.")
	i.settings = addTrackerFlags(cmd)
	live := append([]string{"namespace"}, forCluster...)
	reject(cmd, func() bool { return i.recording != "" }, "to --recording", append(live, "url")...)
	reject(cmd, func() bool { return i.url != nil }, "to --url", append(live, trackerFlags...)...)
	reject(cmd, func() bool { return i.url == nil }, "without --url", "url.config", "url.cluster")
}

// query returns the parameters of the API that select the incidents.
func (i *instance) query() url.Values {
	values := url.Values{}
	for name, value := range map[string]string{"namespace": i.cluster.namespace, "cluster": i.urlCluster, "id": i.id} {
		if value != "" {
			values.Set(name, value)
		}
	}
	for name, t := range map[string]time.Time{"from": i.between.from, "to": i.between.to} {
		if !t.IsZero() {
			values.Set(name, t.UTC().Format(time.RFC3339Nano))
		}
	}
	return values
}

// readIncidents reads the API document with the incidents that match the flags from a running kubeflap instance.
func (i *instance) readIncidents(p program) (*api.Answer, error) {
	answer := &api.Answer{}
	return answer, i.read(p, api.Path, answer, func() bool { return !answer.AsOf.IsZero() })
}

// read reads a document from a running kubeflap instance, at --url or in the kubeconfig's cluster. Every document of
// kubeflap is valid after that.
func (i *instance) read(p program, path string, into any, valid func() bool) (err error) {
	var text []byte
	if i.url != nil {
		i.sourceName = i.url.Redacted()
		text, err = i.get(p.ctx, path, i.query())
	} else {
		text, err = i.readThroughAPIServer(p, path)
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil || !valid() {
		return fmt.Errorf("%s is not kubeflap, or its version of kubeflap does not serve %s", i.sourceName, path)
	}
	return nil
}

// readThroughAPIServer reads from the kubeflap instance in the kubeconfig's cluster.
func (i *instance) readThroughAPIServer(p program, path string) (text []byte, err error) {
	config, err := i.cluster.load()
	if errors.Is(err, apiclient.ErrNoCluster) {
		return nil, fmt.Errorf("%w. To read from a kubeflap instance outside of this cluster, use --url", err)
	}
	if err != nil {
		return nil, err
	}
	watch.RedirectKlog(p.logger)
	p.logger.Debug("reading from kubeflap", "path", path, "context", config.Context, "server", config.Host)
	service := i.service
	client, err := apiclient.New(config.Config)
	if err == nil && service.Name == "" {
		namespaces := slices.DeleteFunc([]string{i.cluster.namespace, config.Namespace}, func(s string) bool { return s == "" })
		service, err = client.FindService(p.ctx, namespaces...)
	}
	if err == nil {
		i.sourceName = "context " + config.Context + ", Service " + service.String()
		text, err = client.GetFromService(p.ctx, service, path, i.query())
	}
	if err != nil {
		return nil, fmt.Errorf("context %s, server %s: %w", config.Context, config.Host, err)
	}
	return text, nil
}

// replay replays the recording without waiting, and returns the API document at its end and the recording's header. For a
// damaged recording, it returns both the document and an error.
func (i *instance) replay(p program, s settings, q *api.Query) (*api.Answer, recording.Header, error) {
	r, failure := replayAtOnce(p, s, i.between, i.recording)
	if r == nil {
		return nil, recording.Header{}, failure
	}
	i.sourceName = "recording " + filepath.Base(i.recording)
	answer := web.Answer(r.clusters(), q)
	if answer.AsOf.IsZero() {
		failure = cmp.Or(failure, fmt.Errorf("recording %s has no events", i.recording))
	}
	return &answer, r.recordings[0].header, failure
}

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
