package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
	"github.com/kubeflap/kubeflap/exporter/watch/serviceproxy"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// instance holds the flags for a running kubeflap, either in the cluster of the kubeconfig or at a URL.
type instance struct {
	cluster clusterFlags
	// `service` is kubeflap's Service. serviceFlag is the name of the flag for this Service.
	service, serviceFlag string
	remote               remote
	// sourceName describes the kubeflap instance that answered the last request.
	sourceName string
}

func (i *instance) addFlags(cmd *kingpin.CmdClause, serviceFlag, namespaceHelp, clusterHelp string) {
	i.serviceFlag = serviceFlag
	i.cluster = addClusterFlags(cmd, namespaceHelp)
	cmd.Flag(serviceFlag, "kubeflap's Service, as NAMESPACE/NAME or NAMESPACE/NAME:PORT. By default, the command looks for a Service with the label app.kubernetes.io/name=kubeflap.").
		PlaceHolder("NAMESPACE/NAME[:PORT]").StringVar(&i.service)
	i.remote.addFlags(cmd, "Read from the kubeflap instance at this URL, such as http://host:9969.", clusterHelp)
}

// validate rejects contradictory flags.
func (i *instance) validate() error {
	switch {
	case i.remote.url != "" && (i.cluster.given() || i.service != ""):
		return fmt.Errorf("--kubeconfig, --context, --cluster, --user and --%s do not apply to --url", i.serviceFlag)
	case i.remote.url == "" && i.remote.config != "":
		return errors.New("--url.config needs --url")
	}
	if i.service != "" {
		if _, err := serviceproxy.Parse(i.service); err != nil {
			return fmt.Errorf("--%s: %w", i.serviceFlag, err)
		}
	}
	return i.remote.validate()
}

// readIncidents fetches the incidents that match both the query and the flags. `text` is kubeflap's response as JSON.
// `answer` is the decoded response.
func (i *instance) readIncidents(p program, query url.Values) (text []byte, answer *api.Answer, err error) {
	for name, value := range map[string]string{"namespace": *i.cluster.namespace, "cluster": i.remote.cluster} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if text, err = i.read(p, api.Path, "application/json", query); err != nil {
		return nil, nil, err
	}
	if err := json.Unmarshal(text, &answer); err != nil || answer == nil || answer.AsOf.IsZero() {
		return nil, nil, fmt.Errorf("the server is not kubeflap, or its version of kubeflap does not serve %s", api.Path)
	}
	return text, answer, nil
}

func (i *instance) read(p program, path, accept string, query url.Values) (text []byte, err error) {
	if i.remote.url == "" {
		return i.readThroughAPIServer(p, path, query)
	}
	i.sourceName = redacted(i.remote.url)
	address := i.remote.address(path)
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	err = i.remote.get(p.ctx, address, accept, func(body io.Reader) error {
		text, err = io.ReadAll(body)
		return err //nolint:wrapcheck // the method get adds the URL
	})
	return text, err
}

// readThroughAPIServer reads from the kubeflap instance in the kubeconfig's cluster.
func (i *instance) readThroughAPIServer(p program, path string, query url.Values) ([]byte, error) {
	config, err := i.cluster.load()
	if errors.Is(err, apiclient.ErrNoCluster) {
		return nil, fmt.Errorf("%w. To read from a kubeflap instance outside of this cluster, use --url", err)
	}
	if err != nil {
		return nil, err
	}
	watch.RedirectKlog(p.logger)
	p.logger.Debug("reading from kubeflap", "path", path, "context", config.Context, "server", config.Host)
	text, err := i.proxied(p, config, path, query)
	if err != nil {
		return nil, fmt.Errorf("context %s, server %s: %w", config.Context, config.Host, err)
	}
	return text, nil
}

func (i *instance) proxied(p program, config apiclient.Config, path string, query url.Values) ([]byte, error) {
	client, err := serviceproxy.New(config.Config, i.serviceFlag)
	if err != nil {
		return nil, err
	}
	var service serviceproxy.Service
	if i.service != "" {
		service, err = serviceproxy.Parse(i.service)
	} else {
		service, err = client.Find(p.ctx, slices.DeleteFunc([]string{*i.cluster.namespace, config.Namespace}, func(s string) bool { return s == "" })...)
	}
	if err != nil {
		return nil, err
	}
	i.sourceName = "context " + config.Context + ", Service " + service.String()
	return client.Get(p.ctx, service, path, query)
}

func (i *instance) sourceDescription() string {
	if i.remote.url != "" {
		return i.sourceName
	}
	return i.sourceName + " (if the Service has several replicas, the incidents and the metrics may come from different replicas)"
}
