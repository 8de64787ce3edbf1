package listing

import (
	"fmt"
	"io"
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
	paragraph := func(label, s string) {
		if s != "" {
			fmt.Fprintf(&text, "%-*s%s\n", labelWidth, label, wrapped(s, labelWidth))
		}
	}
	paragraph("ID:", x.ID)
	paragraph("Also:", strings.Join(x.Also, ", "))
	paragraph("Cluster:", x.Cluster)
	paragraph("What:", x.subject())
	paragraph("State:", x.state())
	paragraph("Start:", moment(x.Start))
	if x.End == nil {
		paragraph("Lasts:", x.lasted()+" so far")
	} else {
		paragraph("End:", moment(*x.End)+", after "+x.lasted())
	}
	paragraph("Summary:", x.Summary)
	paragraph("Cause:", x.Cause)
	paragraph("Verdict:", x.decision())
	paragraph("Decide:", x.Command)
	paragraph("Remedy:", x.Remedy)
	x.writeConsidered(&text)
	x.writeEffects(&text)
	x.writeEvidence(&text)
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("print the incident: %w", err)
	}
	return nil
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
	if len(x.Services) == 0 {
		return
	}
	fmt.Fprintln(text, "\nServices:")
	table := tabwriter.NewWriter(text, 0, 0, columnGap, ' ', 0)
	fmt.Fprintln(table, "  NAME\tLOST\tBACK\tOUTAGES\tDOWN")
	for _, s := range x.Services {
		down := "-"
		switch {
		case s.Down:
			down = seconds(s.OutageSeconds) + " so far"
		case s.Outages > 0:
			down = seconds(s.OutageSeconds)
		}
		fmt.Fprintf(table, "  %s\t%d\t%d\t%d\t%s\n", printable.Line(s.Namespace+"/"+s.Service), s.AddressesLost, s.AddressesBack, s.Outages, down)
	}
	_ = table.Flush() // writing to a strings.Builder never fails
	if x.ServicesLeftOut > 0 {
		fmt.Fprintf(text, "  and %d more\n", x.ServicesLeftOut)
	}
}

func (x *row) writeEvidence(text *strings.Builder) {
	if len(x.Evidence) == 0 {
		return
	}
	fmt.Fprintf(text, "\nEvidence (%s, UTC):\n", x.Evidence[0].Time.UTC().Format(time.DateOnly))
	for _, e := range x.Evidence {
		line := e.Text
		if e.Until.Sub(e.Time) >= 100*time.Millisecond {
			line += ", within " + phrase.Duration(e.Until.Sub(e.Time))
		}
		fmt.Fprintf(text, "  %s  %s\n", e.Time.UTC().Format("15:04:05.0"), wrapped(line, evidenceWidth))
	}
	if x.EvidenceLeftOut > 0 {
		fmt.Fprintf(text, "  (%s between the first and the last left out)\n", phrase.Count(x.EvidenceLeftOut, "entry", "entries"))
	}
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
