package api

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// Markdown prints all details of the incidents as one text in Markdown, with GitHub's tables. Names and messages from
// the cluster cannot add markup. The origin names the program that prints them, and where it has read them. The filter
// describes the selection of incidents, or is empty.
func Markdown(out io.Writer, answer *Answer, origin, filter string) error {
	var m markdown
	m.paragraph("# Incidents until " + phrase.Moment(answer.AsOf))
	incidents := slices.Clone(answer.Incidents)
	slices.SortStableFunc(incidents, func(a, b incident.Incident) int { return a.Start.Compare(b.Start) })
	switch {
	case len(incidents) == 0:
		m.paragraph("No incidents" + phrase.Markdown(filter) + ".")
	case filter != "":
		m.paragraph("Incidents" + phrase.Markdown(filter) + ".")
	}
	if len(incidents) > 1 {
		m.overview(answer, incidents)
	}
	for i := range incidents {
		m.incident(&incidents[i])
	}
	m.paragraph("## Coverage")
	m.list(answer.Coverage.Texts(len(answer.GracePeriods)))
	m.list(slices.Concat(answer.Coverage.Unwatched(), answer.Coverage.Missing(time.Time{})))
	m.paragraph("## Source")
	m.paragraph(phrase.Markdown("Printed by " + origin + "."))
	if _, err := io.WriteString(out, strings.TrimSuffix(m.String(), "\n")); err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

// markdown is a text in Markdown. Its methods escape all texts except that of paragraph.
type markdown struct{ strings.Builder }

func (m *markdown) paragraph(markup string) { m.WriteString(markup + "\n\n") }

func (m *markdown) list(items []string) {
	for _, item := range items {
		m.WriteString("- " + phrase.Markdown(item) + "\n")
	}
	if len(items) > 0 {
		m.WriteString("\n")
	}
}

// overview adds a table with a row for each incident. Its columns are those of Table.
func (m *markdown) overview(answer *Answer, incidents []incident.Incident) {
	columns := columns(answer, true)
	line := func(cell func(column) string) {
		for _, c := range columns {
			m.WriteString("| " + cell(c) + " ")
		}
		m.WriteString("|\n")
	}
	line(func(c column) string { return c.title })
	line(func(column) string { return "---" })
	for i := range incidents {
		line(func(c column) string { return phrase.Markdown(c.cell(&incidents[i])) })
	}
	m.WriteString("\n")
}

func (m *markdown) incident(x *incident.Incident) {
	m.paragraph("## " + phrase.Markdown(x.Summary))
	for _, f := range fields(x) {
		if f.label != summaryLabel {
			m.WriteString("- **" + f.label + ":** " + phrase.Markdown(f.text) + "\n")
		}
	}
	m.WriteString("\n")
	for _, s := range sections(x, func(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05.0") }) {
		var items []string
		for _, item := range s.items {
			items = append(items, item.label+item.text)
		}
		m.paragraph("### " + s.title)
		m.list(items)
	}
	if drawing := Draw(x); drawing != nil {
		m.paragraph("### Timeline")
		m.paragraph("```text\n" + drawing.Text() + "```")
		if x.SpansLeftOut > 0 {
			m.paragraph(phrase.Count(x.SpansLeftOut, "interval is", "intervals are") + " left out.")
		}
	}
}
