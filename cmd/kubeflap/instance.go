package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// instance holds the flags for a running kubeflap, either in the cluster of the kubeconfig or at a URL.
type instance struct {
	cluster *clusterFlags
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

// read fetches the API document with the incidents that match the flags.
func (i *instance) read(p program) (answer *api.Answer, err error) {
	var text []byte
	if i.url != nil {
		i.sourceName = i.url.Redacted()
		text, err = i.get(p.ctx, api.Path, i.query())
	} else {
		text, err = i.readThroughAPIServer(p)
	}
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer == nil || answer.AsOf.IsZero() {
		return nil, fmt.Errorf("the server is not kubeflap, or its version of kubeflap does not serve %s", api.Path)
	}
	return answer, nil
}

// readThroughAPIServer reads from the kubeflap instance in the kubeconfig's cluster.
func (i *instance) readThroughAPIServer(p program) (text []byte, err error) {
	config, err := i.cluster.load()
	if errors.Is(err, apiclient.ErrNoCluster) {
		return nil, fmt.Errorf("%w. To read from a kubeflap instance outside of this cluster, use --url", err)
	}
	if err != nil {
		return nil, err
	}
	watch.RedirectKlog(p.logger)
	p.logger.Debug("reading from kubeflap", "path", api.Path, "context", config.Context, "server", config.Host)
	service := i.service
	client, err := apiclient.New(config.Config)
	if err == nil && service.Name == "" {
		namespaces := slices.DeleteFunc([]string{i.cluster.namespace, config.Namespace}, func(s string) bool { return s == "" })
		service, err = client.FindService(p.ctx, namespaces...)
	}
	if err == nil {
		i.sourceName = "context " + config.Context + ", Service " + service.String()
		text, err = client.GetFromService(p.ctx, service, api.Path, i.query())
	}
	if err != nil {
		return nil, fmt.Errorf("context %s, server %s: %w", config.Context, config.Host, err)
	}
	return text, nil
}
