package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/listing"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/watch"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
	"github.com/kubeflap/kubeflap/exporter/watch/serviceproxy"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// teller has the flags of incidents.
type teller struct {
	cluster             clusterFlags
	service, output, id string
	remote              remote
}

func registerIncidents(app *kingpin.Application) (string, command) {
	a := &teller{}
	cmd := app.Command("incidents", "List the incidents of a running kubeflap, or show one in full. It reads through the API server from the kubeflap "+
		"in the cluster of the kubeconfig, which needs the permission to get services/proxy. With --url, it reads from that URL.")
	cmd.Arg("id", "Show this incident in full. The beginning of its ID is enough.").StringVar(&a.id)
	a.cluster = addClusterFlags(cmd, "List only incidents that affected a Service in this namespace.")
	cmd.Flag("service", "The Service of kubeflap. Without it, the Service is found by its label app.kubernetes.io/name=kubeflap.").
		PlaceHolder("NAMESPACE/NAME[:PORT]").StringVar(&a.service)
	a.remote.addFlags(cmd, "Read from the kubeflap at this URL, such as http://host:9969.", "List only incidents of this cluster, if the kubeflap serves several.")
	cmd.Flag("output", "Output format: table, wide, json or yaml. wide also has the cause and a summary.").
		Short('o').Default("table").SetValue(named{choice{&a.output, []string{"table", "wide", "json", "yaml"}}, "output"})
	cmd.Validate(func(*kingpin.CmdClause) error { return a.validate() })
	return cmd.FullCommand(), a.tell
}

func (a *teller) validate() error {
	switch {
	case a.remote.url != "" && (a.cluster.given() || a.service != ""):
		return errors.New("--kubeconfig, --context, --cluster, --user and --service do not apply to --url")
	case a.remote.url == "" && a.remote.config != "":
		return errors.New("--url.config needs --url")
	}
	if a.service != "" {
		if _, err := serviceproxy.Parse(a.service); err != nil {
			return fmt.Errorf("--service: %w", err)
		}
	}
	return a.remote.validate()
}

func (a *teller) tell(p program) error {
	text, err := a.read(p)
	if err != nil {
		return err
	}
	var answer api.Answer
	if err := json.Unmarshal(text, &answer); err != nil || answer.AsOf.IsZero() {
		return fmt.Errorf("what answers is no kubeflap, at least none that serves %s", api.Path)
	}
	a.warn(p, &answer)
	if a.id != "" {
		return a.tellOne(p, text, &answer)
	}
	switch {
	case a.output == "json":
		return listing.JSON(p.out, text, "")
	case a.output == "yaml":
		return listing.YAML(p.out, text, "")
	case len(answer.Incidents) == 0:
		fmt.Fprintln(p.log, "No incidents"+a.filtered()+".")
		return nil
	case a.output == "wide":
		return listing.WideTable(p.out, &answer)
	}
	return listing.Table(p.out, &answer)
}

func (a *teller) tellOne(p program, text []byte, answer *api.Answer) error {
	x, err := listing.Find(answer, a.id)
	if err != nil {
		return err
	}
	switch a.output {
	case "json":
		return listing.JSON(p.out, text, x.ID)
	case "yaml":
		return listing.YAML(p.out, text, x.ID)
	}
	return listing.Full(p.out, x, answer.AsOf)
}

// filtered says which incidents are listed only.
func (a *teller) filtered() string {
	text := ""
	if name := *a.cluster.namespace; name != "" {
		text += " that affected a Service in the namespace " + printable.Line(name)
	}
	if name := a.remote.cluster; name != "" {
		text += " of the cluster " + printable.Line(name)
	}
	return text
}

// warn says what kubeflap does not watch: then no incident does not mean that all is well.
func (a *teller) warn(p program, answer *api.Answer) {
	for _, x := range answer.Coverage.NotWatched {
		text := "Warning: kubeflap does not watch " + strings.TrimSpace(x.Cluster+" "+x.Resource)
		if x.Since != nil {
			text += " since " + x.Since.Format("2006-01-02 15:04:05 UTC")
		}
		fmt.Fprintln(p.log, printable.Line(text+" ("+x.Reason+"), so incidents may be missing."))
	}
}

// read returns the JSON of a kubeflap.
func (a *teller) read(p program) (text []byte, err error) {
	query := url.Values{}
	for name, value := range map[string]string{"namespace": *a.cluster.namespace, "cluster": a.remote.cluster} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if a.remote.url == "" {
		return a.readThroughAPIServer(p, query)
	}
	address := a.remote.address(api.Path)
	if len(query) > 0 {
		address += "?" + query.Encode()
	}
	err = a.remote.get(p.ctx, address, "application/json", func(body io.Reader) error {
		text, err = io.ReadAll(body)
		return err //nolint:wrapcheck // the caller names the URL
	})
	return text, err
}

// readThroughAPIServer reads from the kubeflap in the cluster of the kubeconfig.
func (a *teller) readThroughAPIServer(p program, query url.Values) ([]byte, error) {
	config, err := a.cluster.load()
	if err != nil {
		return nil, err
	}
	watch.RedirectKlog(p.logger)
	p.logger.Debug("reading incidents", "context", config.Context, "server", config.Host)
	text, err := a.proxied(p, config, query)
	if err != nil {
		return nil, fmt.Errorf("context %s, server %s: %w", config.Context, config.Host, err)
	}
	return text, nil
}

func (a *teller) proxied(p program, config apiclient.Config, query url.Values) ([]byte, error) {
	client, err := serviceproxy.New(config.Config)
	if err != nil {
		return nil, err
	}
	var service serviceproxy.Service
	if a.service != "" {
		service, err = serviceproxy.Parse(a.service)
	} else {
		service, err = client.Find(p.ctx, slices.DeleteFunc([]string{*a.cluster.namespace, config.Namespace}, func(s string) bool { return s == "" })...)
	}
	if err != nil {
		return nil, err
	}
	return client.Get(p.ctx, service, api.Path, query)
}
