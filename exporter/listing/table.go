// Package listing prints the incidents of an API response as a table, in full, as Markdown, as JSON, or as YAML.
package listing

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// columnGap is the number of spaces between two columns.
const columnGap = 2

// Table prints one line per incident. Lines fit in 80 columns unless names are long.
func Table(out io.Writer, answer *api.Answer) error {
	return table(out, answer, columns(answer, func(x *row) string { return api.ShortID(x.ID) }, false))
}

// WideTable prints one line per incident, with the full ID, the cause and the summary.
func WideTable(out io.Writer, answer *api.Answer) error {
	all := columns(answer, func(x *row) string { return x.ID }, false)
	return table(out, answer, append(all,
		column{"CAUSE", func(x *row) string { return x.Cause }},
		column{"SUMMARY", func(x *row) string { return x.Summary }},
	))
}

// columns returns the columns that all tables have. If withStart is set, they include the incident's start instead of its
// age.
func columns(answer *api.Answer, id func(*row) string, withStart bool) []column {
	all := []column{
		{"ID", id}, {"STATE", (*row).state}, {"AGE", (*row).age}, {"LASTED", (*row).lasted}, {"VERDICT", (*row).verdict}, {"WHAT", (*row).what}, {"HIT", (*row).hit},
	}
	clusters := slices.ContainsFunc(answer.Incidents, func(x api.Incident) bool { return x.Cluster != "" })
	if withStart || clusters { // each cluster is a replay with its own current time, so ages cannot be compared
		all[2] = column{"START", func(x *row) string { return x.Start.UTC().Format(time.DateTime) }}
	}
	if clusters {
		all = append([]column{{"CLUSTER", func(x *row) string { return x.Cluster }}}, all...)
	}
	return all
}

type column struct {
	title string
	cell  func(*row) string
}

func table(out io.Writer, answer *api.Answer, columns []column) error {
	writer := tabwriter.NewWriter(out, 0, 0, columnGap, ' ', 0)
	line := func(cell func(column) string) {
		cells := make([]string, 0, len(columns))
		for _, c := range columns {
			cells = append(cells, printable.Line(cell(c)))
		}
		fmt.Fprintln(writer, strings.Join(cells, "\t"))
	}
	line(func(c column) string { return c.title })
	for i := range answer.Incidents {
		line(func(c column) string { return c.cell(&row{&answer.Incidents[i], answer.AsOf}) })
	}
	if err := writer.Flush(); err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

// row is an incident in a row of the table. asOf is the current time.
type row struct {
	*api.Incident
	asOf time.Time
}

func (x *row) state() string {
	if x.Withdrawn != "" {
		return "withdrawn"
	}
	return x.State
}

func (x *row) age() string { return phrase.Duration(max(x.asOf.Sub(x.Start), 0).Round(time.Second)) }

func (x *row) lasted() string { return seconds(x.DurationSeconds) }

func (x *row) verdict() string {
	if x.Withdrawn != "" {
		return "-"
	}
	return x.Verdict
}

// What returns an incident's subject, with the subject's kind and namespace.
func What(x *api.Incident) string {
	kind, name, ofKind := strings.Cut(x.Subject, "/")
	switch {
	case ofKind:
		return kind + " " + x.Namespace + "/" + name
	case x.Namespace != "":
		return x.Namespace + "/" + x.Subject
	}
	return x.Subject
}

func (x *row) what() string { return What(x.Incident) }

// Hit summarizes the effects of an incident: the numbers of nodes and addresses, and the outage time. It omits the name
// of the affected Service if this Service is the incident's subject.
func Hit(x *api.Incident) string {
	var parts []string
	if nodes := len(x.Nodes) + x.NodesLeftOut; nodes > 1 {
		parts = append(parts, phrase.Count(nodes, "node", "nodes"))
	}
	services, service := len(x.Services)+x.ServicesLeftOut, ""
	if len(x.Services) > 0 {
		service = x.Services[0].Namespace + "/" + x.Services[0].Service
	}
	if x.AddressesLost > 0 {
		text := phrase.Count(x.AddressesLost, "address", "addresses")
		switch {
		case services > 1:
			text += fmt.Sprintf(" of %d Services", services)
		case services == 1 && !strings.HasSuffix(" "+What(x), " "+service):
			text += " of " + service
		}
		parts = append(parts, text)
	}
	if x.OutageSeconds > 0 {
		parts = append(parts, "down "+seconds(x.OutageSeconds))
	}
	switch {
	case len(parts) > 0:
	case x.State == "running" && x.Scope == "service":
		return "all manually managed addresses"
	default:
		return "nothing"
	}
	return strings.Join(parts, ", ")
}

func (x *row) hit() string { return Hit(x.Incident) }

func seconds(n float64) string { return phrase.Duration(time.Duration(n * float64(time.Second))) }
