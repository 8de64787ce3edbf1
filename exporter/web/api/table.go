package api

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// columnGap is the number of spaces between two columns.
const columnGap = 2

// Table prints one line per incident. Lines fit in 80 columns unless names are long. If wide is set, they also contain the
// full ID, the cause and the summary.
func Table(out io.Writer, answer *Answer, wide bool) error {
	all := columns(answer, wide, false)
	if wide {
		all = append(all,
			column{"CAUSE", func(x *Incident) string { return x.Cause }},
			column{"SUMMARY", func(x *Incident) string { return x.Summary }})
	}
	writer := tabwriter.NewWriter(out, 0, 0, columnGap, ' ', 0)
	line := func(cell func(column) string) {
		cells := make([]string, 0, len(all))
		for _, c := range all {
			cells = append(cells, phrase.Line(cell(c)))
		}
		fmt.Fprintln(writer, strings.Join(cells, "\t"))
	}
	line(func(c column) string { return c.title })
	for i := range answer.Incidents {
		line(func(c column) string { return c.cell(&answer.Incidents[i]) })
	}
	if err := writer.Flush(); err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

type column struct {
	title string
	cell  func(*Incident) string
}

// columns returns the columns that all tables have, with the full or the short ID. If withStart is set, they include the
// incident's start instead of its age.
func columns(answer *Answer, fullID, withStart bool) []column {
	id := func(x *Incident) string { return ShortID(x.ID) }
	if fullID {
		id = func(x *Incident) string { return x.ID }
	}
	age := column{"AGE", func(x *Incident) string {
		return phrase.Duration(max(answer.AsOf.Sub(x.Start), 0).Round(time.Second))
	}}
	clusters := slices.ContainsFunc(answer.Incidents, func(x Incident) bool { return x.Cluster != "" })
	if withStart || clusters { // each cluster is a replay with its own current time, so ages cannot be compared
		age = column{"START", func(x *Incident) string { return x.Start.UTC().Format(time.DateTime) }}
	}
	all := []column{
		{"ID", id},
		{"STATE", (*Incident).StateText},
		age,
		{"LASTED", (*Incident).Lasted},
		{"VERDICT", (*Incident).VerdictText},
		{"WHAT", (*Incident).What},
		{"HIT", (*Incident).Hit},
	}
	if clusters {
		all = append([]column{{"CLUSTER", func(x *Incident) string { return x.Cluster }}}, all...)
	}
	return all
}
