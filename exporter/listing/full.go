package listing

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

const (
	// textWidth is the maximum line width.
	textWidth = 80
	// labelWidth is the width of the labels. evidenceWidth is the width of the times in the list of evidence.
	labelWidth    = 10
	evidenceWidth = 14
)

// Full prints all details of an incident. asOf is the current time.
func Full(out io.Writer, incident *api.Incident, asOf time.Time) error {
	x := &row{incident, asOf}
	var text strings.Builder
	for _, f := range x.fields() {
		fmt.Fprintf(&text, "%-*s%s\n", labelWidth, f.label+":", wrapped(f.text, labelWidth))
	}
	x.writeConsidered(&text)
	x.writeEffects(&text)
	x.writeEvidence(&text)
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("print the incident: %w", err)
	}
	return nil
}

// field is a property of an incident.
type field struct{ label, text string }

// summaryLabel is the label of the field with the summary.
const summaryLabel = "Summary"

// fields returns the properties of the incident that are a single text.
func (x *row) fields() []field {
	end := field{"Lasts", x.lasted() + " so far"}
	if x.End != nil {
		end = field{"End", moment(*x.End) + ", after " + x.lasted()}
	}
	all := []field{
		{"ID", x.ID},
		{"Also", strings.Join(x.Also, ", ")},
		{"Cluster", x.Cluster},
		{"What", x.subject()},
		{"State", x.state()},
		{"Start", moment(x.Start)},
		end,
		{summaryLabel, x.Summary},
		{"Cause", x.Cause},
		{"Verdict", x.decision()},
		{"Decide", x.Command},
		{"Remedy", x.Remedy},
	}
	return slices.DeleteFunc(all, func(f field) bool { return f.text == "" })
}

// subject returns the text of the table's column WHAT. For a node, it adds the prefix "node".
func (x *row) subject() string {
	if x.Scope == "node" {
		return "node " + x.what()
	}
	return x.what()
}

// decision returns the verdict and the fact that decided it.
func (x *row) decision() string {
	if x.Withdrawn != "" {
		return "none, because the incident was withdrawn: " + x.Withdrawn
	}
	for _, c := range x.Considered {
		if c.Verdict == x.Verdict {
			return x.Verdict + ", because " + c.Because
		}
	}
	return x.Verdict
}

func (x *row) writeConsidered(text *strings.Builder) {
	if len(x.Considered) == 0 {
		return
	}
	fmt.Fprintln(text, "\nConsidered:")
	for _, c := range x.Considered {
		label := fmt.Sprintf("  %-8s%s", c.Holds, c.Verdict)
		fmt.Fprintln(text, printable.Line(label))
		fmt.Fprintf(text, "%-*s%s\n", labelWidth, "", wrapped(c.Because, labelWidth))
	}
}

func (x *row) writeEffects(text *strings.Builder) {
	if len(x.Nodes) > 0 {
		fmt.Fprintf(text, "\nNodes:    %s\n", wrapped(listed(x.Nodes, x.NodesLeftOut), labelWidth))
	}
	rows := x.serviceRows()
	if len(rows) == 0 {
		return
	}
	fmt.Fprintln(text, "\nServices:")
	table := tabwriter.NewWriter(text, 0, 0, columnGap, ' ', 0)
	for _, cells := range append([][]string{serviceHeads}, rows...) {
		fmt.Fprintln(table, "  "+printable.Line(cells[0])+"\t"+strings.Join(cells[1:], "\t"))
	}
	_ = table.Flush() // writing to a strings.Builder never fails
	if x.ServicesLeftOut > 0 {
		fmt.Fprintf(text, "  and %d more\n", x.ServicesLeftOut)
	}
}

var serviceHeads = []string{"NAME", "LOST", "BACK", "OUTAGES", "DOWN"}

// serviceRows returns the effects on each Service, in the order of serviceHeads.
func (x *row) serviceRows() (rows [][]string) {
	for i := range x.Services {
		s := &x.Services[i]
		rows = append(rows, []string{
			s.Namespace + "/" + s.Service, strconv.Itoa(s.AddressesLost), strconv.Itoa(s.AddressesBack), strconv.Itoa(s.Outages), downTime(s),
		})
	}
	return rows
}

// downTime returns how long the Service had no ready address.
func downTime(s *api.Service) string {
	if s.Outages == 0 && !s.Down {
		return "-"
	}
	text := seconds(s.OutageSeconds)
	if s.Inexact {
		text = "about " + text
	}
	if s.Down {
		text += " so far"
	}
	return text
}

func (x *row) writeEvidence(text *strings.Builder) {
	if len(x.Evidence) == 0 {
		return
	}
	fmt.Fprintf(text, "\nEvidence (%s, UTC):\n", x.Evidence[0].Time.UTC().Format(time.DateOnly))
	for i := range x.Evidence {
		e := &x.Evidence[i]
		fmt.Fprintf(text, "  %s  %s\n", e.Time.UTC().Format("15:04:05.0"), wrapped(evidenceText(e), evidenceWidth))
	}
	if x.EvidenceLeftOut > 0 {
		fmt.Fprintf(text, "  (%s)\n", x.evidenceLeftOut())
	}
}

func evidenceText(e *api.Evidence) string {
	if lasted := e.Until.Sub(e.Time); lasted >= 100*time.Millisecond {
		return e.Text + ", within " + phrase.Duration(lasted)
	}
	return e.Text
}

func (x *row) evidenceLeftOut() string {
	return phrase.Count(x.EvidenceLeftOut, "entry", "entries") + " between the first and the last left out"
}

func listed(names []string, leftOut int) string {
	text := strings.Join(names, ", ")
	if leftOut > 0 {
		text += fmt.Sprintf(" and %d more", leftOut)
	}
	return text
}

func moment(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05 UTC") }

func wrapped(text string, indent int) string { return printable.Wrap(text, indent, textWidth) }
