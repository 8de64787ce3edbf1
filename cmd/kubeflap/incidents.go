package main

import (
	"fmt"
	"net/url"
	"strings"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/listing"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// incidentLister holds the flags of the incidents command.
type incidentLister struct {
	instance
	output, id string
}

func registerIncidents(app *kingpin.Application) (string, command) {
	a := &incidentLister{}
	cmd := app.Command("incidents", "List the incidents of a running kubeflap instance, or show one in full. By default, the command connects through the API server to the kubeflap instance in the kubeconfig's cluster. This requires permission to get services/proxy.")
	cmd.Arg("id", "Show this incident in full. The first characters of its ID are enough, at least 4.").StringVar(&a.id)
	a.addFlags(cmd, "service", "List only incidents that affected a Service in this namespace.",
		"List only incidents of this cluster, if the kubeflap instance serves several clusters.")
	cmd.Flag("output", "Output format: table, wide, json or yaml. wide adds the cause and a summary.").
		Short('o').Default("table").SetValue(named{choice{&a.output, []string{"table", "wide", "json", "yaml"}}, "output"})
	cmd.Validate(func(*kingpin.CmdClause) error { return a.validate() })
	return cmd.FullCommand(), a.printIncidents
}

func (a *incidentLister) printIncidents(p program) error {
	text, answer, err := a.readIncidents(p, url.Values{})
	if err != nil {
		return err
	}
	a.warn(p, answer)
	if a.id != "" {
		return a.printIncident(p, text, answer)
	}
	warnOfDropped(p, answer)
	switch {
	case a.output == "json":
		return listing.JSON(p.out, text, "")
	case a.output == "yaml":
		return listing.YAML(p.out, text, "")
	case len(answer.Incidents) == 0:
		fmt.Fprintln(p.log, "No incidents"+a.filtered()+". Read from "+printable.Line(a.sourceName)+".")
		return nil
	case a.output == "wide":
		return listing.WideTable(p.out, answer)
	}
	return listing.Table(p.out, answer)
}

func (a *incidentLister) printIncident(p program, text []byte, answer *api.Answer) error {
	x, err := listing.Find(answer, a.id)
	if err != nil {
		return fmt.Errorf("%s: %w", a.sourceName, err)
	}
	switch a.output {
	case "json":
		return listing.JSON(p.out, text, x.ID)
	case "yaml":
		return listing.YAML(p.out, text, x.ID)
	}
	return listing.Full(p.out, x, answer.AsOf)
}

// warnOfDropped prints a warning if older incidents are missing from the list.
func warnOfDropped(p program, answer *api.Answer) {
	c := &answer.Coverage
	if until := c.IncidentsLostUntil; until != nil {
		fmt.Fprintf(p.log, "Warning: incidents until %s may be missing, because kubeflap's file incidents.jsonl was damaged, deleted or unreadable. To see what was recorded, run kubeflap report --recording on its --data.dir directory.\n",
			until.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	if c.IncidentsDropped == 0 || c.IncidentsDroppedUntil == nil {
		return
	}
	fmt.Fprintf(p.log, "Warning: kubeflap has dropped %s (--incidents.size). All incidents that were ongoing after %s are kept.\n",
		phrase.Count(c.IncidentsDropped, "older incident", "older incidents"), c.IncidentsDroppedUntil.UTC().Format("2006-01-02 15:04:05 UTC"))
}

// filtered returns a description of the list's filters.
func (a *incidentLister) filtered() string {
	text := ""
	if name := *a.cluster.namespace; name != "" {
		text += " that affected a Service in the namespace " + printable.Line(name)
	}
	if name := a.remote.cluster; name != "" {
		text += " of the cluster " + printable.Line(name)
	}
	return text
}

// warn prints a warning for each resource that kubeflap does not watch. Incidents that depend on this resource may be
// missing.
func (a *incidentLister) warn(p program, answer *api.Answer) {
	for _, x := range answer.Coverage.NotWatched {
		text := "Warning: kubeflap does not watch " + strings.TrimSpace(x.Cluster+" "+x.Resource)
		if x.Since != nil {
			text += " since " + x.Since.Format("2006-01-02 15:04:05 UTC")
		}
		fmt.Fprintln(p.log, printable.Line(text+" ("+x.Reason+"), so incidents may be missing."))
	}
}
