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
	cluster clusterFlags
	// `service` is kubeflap's Service.
	service string
	remote  remote
	between period
	// sourceName describes the kubeflap instance or the recording that the incidents come from.
	sourceName string
}

func (i *instance) addFlags(cmd *kingpin.CmdClause) {
	i.cluster = addClusterFlags(cmd, "List only incidents that affected a Service in this namespace.")
	cmd.Flag("service", "kubeflap's Service, as NAMESPACE/NAME or NAMESPACE/NAME:PORT. By default, the command looks for a Service with the label app.kubernetes.io/name=kubeflap.").
		PlaceHolder("NAMESPACE/NAME[:PORT]").StringVar(&i.service)
	i.remote.addFlags(cmd, "Read from the kubeflap instance at this URL, such as http://host:9969.", "List only incidents of this cluster, if the kubeflap instance serves several clusters.")
}

// given reports whether any of the flags for a running kubeflap is set.
func (i *instance) given() bool { return i.cluster.given() || i.service != "" || i.remote != remote{} }

// validate rejects contradictory flags.
func (i *instance) validate() error {
	switch {
	case i.remote.url != "" && (i.cluster.given() || i.service != ""):
		return errors.New("--kubeconfig, --context, --cluster, --user and --service do not apply to --url")
	case i.remote.url == "" && i.remote.config != "":
		return errors.New("--url.config needs --url")
	}
	if i.service != "" {
		if _, err := apiclient.ParseService(i.service); err != nil {
			return fmt.Errorf("--service: %w", err)
		}
	}
	return i.remote.validate()
}

// query returns the parameters of the API that select the incidents.
func (i *instance) query() url.Values {
	values := url.Values{}
	set := func(name, value string, given bool) {
		if given {
			values.Set(name, value)
		}
	}
	set("namespace", *i.cluster.namespace, *i.cluster.namespace != "")
	set("cluster", i.remote.cluster, i.remote.cluster != "")
	set("from", i.between.from.UTC().Format(time.RFC3339Nano), !i.between.from.IsZero())
	set("to", i.between.to.UTC().Format(time.RFC3339Nano), !i.between.to.IsZero())
	return values
}

// read fetches the API document with the incidents that match the flags.
func (i *instance) read(p program) (answer *api.Answer, err error) {
	var text []byte
	if i.remote.url != "" {
		i.sourceName = redacted(i.remote.url)
		text, err = i.remote.get(p.ctx, api.Path, i.query())
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
func (i *instance) readThroughAPIServer(p program) ([]byte, error) {
	config, err := i.cluster.load()
	if errors.Is(err, apiclient.ErrNoCluster) {
		return nil, fmt.Errorf("%w. To read from a kubeflap instance outside of this cluster, use --url", err)
	}
	if err != nil {
		return nil, err
	}
	watch.RedirectKlog(p.logger)
	p.logger.Debug("reading from kubeflap", "path", api.Path, "context", config.Context, "server", config.Host)
	text, err := i.proxied(p, config)
	if err != nil {
		return nil, fmt.Errorf("context %s, server %s: %w", config.Context, config.Host, err)
	}
	return text, nil
}

func (i *instance) proxied(p program, config apiclient.Config) ([]byte, error) {
	client, err := apiclient.New(config.Config)
	if err != nil {
		return nil, err
	}
	var service apiclient.Service
	if i.service != "" {
		service, err = apiclient.ParseService(i.service)
	} else {
		service, err = client.FindService(p.ctx, slices.DeleteFunc([]string{*i.cluster.namespace, config.Namespace}, func(s string) bool { return s == "" })...)
	}
	if err != nil {
		return nil, err
	}
	i.sourceName = "context " + config.Context + ", Service " + service.String()
	return client.GetFromService(p.ctx, service, api.Path, i.query())
}
