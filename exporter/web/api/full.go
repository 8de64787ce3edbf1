package api

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
)

const (
	// textWidth is the maximum line width.
	textWidth = 80
	// labelWidth is the width of the labels. itemIndent is the minimum indentation of a list item's second line.
	labelWidth = 12
	itemIndent = 4
)

// Full prints all details of an incident.
func Full(out io.Writer, x *incident.Incident) error {
	var text strings.Builder
	for _, f := range fields(x) {
		fmt.Fprintf(&text, "%-*s%s\n", labelWidth, f.label+":", phrase.Wrap(f.text, labelWidth, f.width(textWidth)))
	}
	for _, s := range sections(x, phrase.Clock) {
		fmt.Fprintf(&text, "\n%s:\n", s.title)
		for _, item := range s.items {
			fmt.Fprintf(&text, "  %s%s\n", item.label, phrase.Wrap(item.text, max(len("  "+item.label), itemIndent), textWidth))
		}
	}
	if _, err := io.WriteString(out, text.String()); err != nil {
		return fmt.Errorf("print the incident: %w", err)
	}
	return nil
}

// StepWidth is the maximum width of the lines of Steps.
const StepWidth = 120

// Steps returns what to do about an incident, for the lines below its summary: the first step and a command for it. If all
// is set, it also returns the other steps, and what keeps the incident going.
func Steps(x *incident.Incident, indent int, all bool) string {
	var text strings.Builder
	for _, f := range steps(x) {
		if f.text != "" && (all || f.label == stepLabel || f.label == commandLabel) {
			fmt.Fprintf(&text, "%*s%s\n", indent, "", phrase.Wrap(f.label+": "+f.text, indent, f.width(StepWidth)))
		}
	}
	return text.String()
}

func steps(x *incident.Incident) []field {
	return []field{{stepLabel, x.FirstStep}, {commandLabel, x.Command}, {"Then", x.Then()}, {"Waits", x.WaitsFor}}
}

// field is a property of an incident.
type field struct{ label, text string }

// width returns the maximum width of the field's lines. A command is never wrapped, so that it can be copied.
func (f field) width(most int) int {
	if f.label == commandLabel {
		return math.MaxInt
	}
	return most
}

const summaryLabel, stepLabel, commandLabel = "Summary", "First step", "Command"

// fields returns the properties of the incident that are a single text.
func fields(x *incident.Incident) []field {
	all := append(append([]field{{summaryLabel, x.Summary}}, steps(x)...), []field{
		{"State", x.State.String() + " " + x.Lasting() + ", began " + x.Since() + " UTC"},
		{"What", x.What()},
		{"Hit", x.Hit()},
		{"Verdict", x.Decision()},
		{"Cause", x.Cause.String()},
		{"Numbers", strings.Join(x.Figures(), "; ")},
		{"Nodes", listed(x.Nodes, x.NodesLeftOut)},
		{"Cluster", x.Cluster},
		{"ID", x.ID},
		{"Also", strings.Join(x.Also, ", ")},
	}...)
	return slices.DeleteFunc(all, func(f field) bool { return f.text == "" })
}

// section is a list of an incident's details. The label of an item can be empty.
type section struct {
	title string
	items []field
}

// sections returns the details of the incident that are lists.
func sections(x *incident.Incident, timeText func(time.Time) string) []section {
	considered, services, evidence := section{title: "Considered"}, section{title: "Services"}, section{title: "Evidence"}
	for _, h := range x.Hypotheses() {
		considered.items = append(considered.items, field{"", h.String()})
	}
	for _, s := range x.Services {
		services.items = append(services.items, field{"", strings.TrimSpace(s.String() + " " + s.Effect())})
	}
	if x.ServicesLeftOut > 0 {
		services.items = append(services.items, field{"", moreText(x.ServicesLeftOut)})
	}
	if len(x.Evidence) > 0 {
		evidence.title += " (" + x.Evidence[0].Time.UTC().Format(time.DateOnly) + ", UTC)"
	}
	for i := range x.Evidence {
		evidence.items = append(evidence.items, field{timeText(x.Evidence[i].Time) + "  ", x.Evidence[i].String()})
	}
	if text := x.EvidenceLeftOutText(); text != "" {
		evidence.items = append(evidence.items, field{"", "(" + text + ")"})
	}
	return slices.DeleteFunc([]section{considered, services, evidence}, func(s section) bool { return len(s.items) == 0 })
}

func listed(names []string, leftOut int) string {
	text := strings.Join(names, ", ")
	if leftOut > 0 {
		text += " " + moreText(leftOut)
	}
	return text
}

func moreText(leftOut int) string { return fmt.Sprintf("and %d more", leftOut) }
