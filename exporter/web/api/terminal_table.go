package api

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

const (
	// columnGap is the number of spaces between two columns.
	columnGap = 2
	// stepIndent is the indentation of the first step below an incident.
	stepIndent = 4
)

// Table prints one line per incident, and the first step below it. If wide is set, each line contains
// the full ID, the cause and the summary, and nothing is below it. If site is the URL of a kubeflap instance, each incident
// has a link to its page there.
func Table(out io.Writer, answer *Answer, wide bool, site string) error {
	all := columns(answer, wide)
	if wide {
		all = append(all,
			column{"CAUSE", func(x *incident.Incident) string { return x.Cause.String() }},
			column{"SUMMARY", func(x *incident.Incident) string { return x.Summary }})
	}
	var text strings.Builder
	writer := tabwriter.NewWriter(&text, 0, 0, columnGap, ' ', 0)
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
	_ = writer.Flush() // a Builder has no errors
	i := -1            // the first line has the titles
	for row := range strings.Lines(text.String()) {
		if i >= 0 && !wide {
			row += Steps(&answer.Incidents[i], stepIndent, false) + link(&answer.Incidents[i], site)
		}
		if _, err := io.WriteString(out, row); err != nil {
			return fmt.Errorf("print the incidents: %w", err)
		}
		i++
	}
	return nil
}

// link returns the line with the link to the incident, if there is one.
func link(x *incident.Incident, site string) string {
	if site == "" {
		return ""
	}
	return fmt.Sprintf("%*s%s/flaps?id=%s\n", stepIndent, "", site, ShortID(x.ID))
}

type column struct {
	title string
	cell  func(*incident.Incident) string
}

// columns returns the columns that all tables have, with the full or the short ID.
func columns(answer *Answer, fullID bool) []column {
	id := func(x *incident.Incident) string { return ShortID(x.ID) }
	if fullID {
		id = func(x *incident.Incident) string { return x.ID }
	}
	all := []column{
		{"ID", id},
		{"STATE", func(x *incident.Incident) string { return x.State.String() }},
		{"BEGAN (UTC)", (*incident.Incident).Since},
		{"LASTED", func(x *incident.Incident) string { return x.Duration.String() }},
		{"WHAT", (*incident.Incident).What},
		{"HIT", (*incident.Incident).Hit},
		{"VERDICT", func(x *incident.Incident) string { return x.VerdictText }},
	}
	if slices.ContainsFunc(answer.Incidents, func(x incident.Incident) bool { return x.Cluster != "" }) {
		all = append([]column{{"CLUSTER", func(x *incident.Incident) string { return x.Cluster }}}, all...)
	}
	return all
}
