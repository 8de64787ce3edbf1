package listing

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kubeflap/kubeflap/exporter/incident"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/timeline"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// Origin describes how a text was made. Version is the version of kubeflap that prints it. Source is the recording or
// the running kubeflap that the incidents come from. Filter describes the selection of incidents, or is empty.
type Origin struct{ Version, Source, Filter string }

// Markdown prints all details of the incidents as one text in Markdown, with GitHub's tables. Names and messages from
// the cluster cannot add markup.
func Markdown(out io.Writer, answer *api.Answer, origin Origin) error {
	var m markdown
	m.paragraph("# Incidents until " + moment(answer.AsOf))
	incidents := slices.Clone(answer.Incidents)
	slices.SortStableFunc(incidents, func(a, b api.Incident) int { return a.Start.Compare(b.Start) })
	switch {
	case len(incidents) == 0:
		m.paragraph("No incidents" + printable.Markdown(origin.Filter) + ".")
	case origin.Filter != "":
		m.paragraph("Incidents" + printable.Markdown(origin.Filter) + ".")
	}
	if len(incidents) > 1 {
		m.overview(answer, incidents)
	}
	for i := range incidents {
		m.incident(&row{&incidents[i], answer.AsOf})
	}
	m.coverage(answer)
	m.paragraph("## Source")
	m.paragraph(printable.Markdown("Printed by kubeflap " + origin.Version + " from " + origin.Source + "."))
	if _, err := io.WriteString(out, strings.TrimSuffix(m.String(), "\n")); err != nil {
		return fmt.Errorf("print the incidents: %w", err)
	}
	return nil
}

// markdown is a text in Markdown. Its methods escape all texts except that of paragraph.
type markdown struct{ strings.Builder }

func (m *markdown) paragraph(markup string) { m.WriteString(markup + "\n\n") }

func (m *markdown) table(heads []string, rows [][]string) {
	if len(rows) == 0 {
		return
	}
	line := func(cells []string) {
		for _, cell := range cells {
			m.WriteString("| " + printable.Markdown(cell) + " ")
		}
		m.WriteString("|\n")
	}
	line(heads)
	m.WriteString(strings.Repeat("| --- ", len(heads)) + "|\n")
	for _, cells := range rows {
		line(cells)
	}
	m.WriteString("\n")
}

func (m *markdown) list(items []string) {
	for _, item := range items {
		m.WriteString("- " + printable.Markdown(item) + "\n")
	}
	if len(items) > 0 {
		m.WriteString("\n")
	}
}

// leftOut adds a sentence about omitted items, if there are any.
func (m *markdown) leftOut(n int, one, many string) {
	if n > 0 {
		m.paragraph(phrase.Count(n, one, many) + " left out.")
	}
}

// overview adds a table with a row for each incident. Its columns are those of Table, with times instead of ages.
func (m *markdown) overview(answer *api.Answer, incidents []api.Incident) {
	var heads []string
	rows := make([][]string, len(incidents))
	for _, c := range columns(answer, func(x *row) string { return x.ID }, true) {
		heads = append(heads, c.title)
		for i := range incidents {
			rows[i] = append(rows[i], c.cell(&row{&incidents[i], answer.AsOf}))
		}
	}
	m.table(heads, rows)
}

func (m *markdown) incident(x *row) {
	m.paragraph("## " + printable.Markdown(x.Summary))
	for _, f := range append(x.fields(), field{"Hit", x.hit()}, field{"Nodes", listed(x.Nodes, x.NodesLeftOut)}, field{"Numbers", x.numbers()}) {
		if f.text != "" && f.label != summaryLabel {
			m.WriteString("- **" + f.label + ":** " + printable.Markdown(f.text) + "\n")
		}
	}
	m.WriteString("\n")
	if len(x.Considered) > 0 {
		m.paragraph("### Considered")
		var rows [][]string
		for _, c := range x.Considered {
			rows = append(rows, []string{c.Holds, c.Verdict, c.Because})
		}
		m.table([]string{"HOLDS", "VERDICT", "BECAUSE"}, rows)
	}
	if len(x.Services) > 0 {
		m.paragraph("### Services")
		m.table(serviceHeads, x.serviceRows())
		m.leftOut(x.ServicesLeftOut, "Service is", "Services are")
	}
	m.timeline(x)
}

// numbers returns the values on which the remedy is based.
func (x *row) numbers() string {
	var all []string
	add := func(name string, value float64) {
		if value > 0 {
			all = append(all, name+" "+seconds(value))
		}
	}
	longest := "longest heartbeat interval"
	if x.Numbers.LongestAtLeast {
		longest += " at least"
	}
	add("grace period", x.Numbers.GracePeriod)
	add(longest, x.Numbers.LongestInterval)
	add("recommended grace period", x.Numbers.RecommendedGracePeriod)
	if x.NodeTransitions > 0 {
		all = append(all, "nodes turned not Ready or Unknown "+phrase.Count(x.NodeTransitions, "time", "times"))
	}
	if x.PodsEvicted > 0 {
		all = append(all, phrase.Count(x.PodsEvicted, "pod", "pods")+" evicted")
	}
	for _, w := range x.Numbers.Windows {
		all = append(all, fmt.Sprintf("clients that batch updates for %s: %s, %s", seconds(w.Seconds),
			phrase.Count(w.Bounces, "bounce", "bounces"), phrase.Count(w.StaleReadds, "stale re-add", "stale re-adds")))
	}
	return strings.Join(all, "; ")
}

func (m *markdown) timeline(x *row) {
	if len(x.Timeline)+len(x.Evidence) > 0 {
		m.paragraph("### Timeline")
	}
	if drawing := x.drawing(); drawing != nil {
		m.paragraph("```text\n" + drawing.Text() + "```")
		m.leftOut(x.SpansLeftOut, "interval is", "intervals are")
	}
	var rows [][]string
	for i := range x.Evidence {
		e := &x.Evidence[i]
		rows = append(rows, []string{e.Time.UTC().Format("2006-01-02 15:04:05.0"), evidenceText(e)})
	}
	m.table([]string{"TIME (UTC)", "EVIDENCE"}, rows)
	if x.EvidenceLeftOut > 0 {
		m.paragraph("(" + x.evidenceLeftOut() + ")")
	}
}

// drawing returns the timeline with the same rows as on kubeflap's page.
func (x *row) drawing() *timeline.Drawing {
	drawn, until := incident.Incident{Start: x.Start}, x.asOf
	if x.End != nil {
		until = *x.End
	}
	for _, s := range x.Timeline {
		span := incident.Span{Track: incident.Track(s.Lane), Name: s.Name, Start: s.Start}
		if s.End != nil {
			span.End = *s.End
		}
		drawn.Timeline = append(drawn.Timeline, span)
	}
	return timeline.Draw(&drawn, until, false)
}

// coverage adds when kubeflap watched the cluster, and which incidents may be missing.
func (m *markdown) coverage(answer *api.Answer) {
	c := &answer.Coverage
	m.paragraph("## Coverage")
	switch {
	case c.Since == nil:
		m.paragraph("It is unknown since when kubeflap watched the cluster.")
	case len(c.Gaps)+c.GapsLeftOut > 0:
		m.paragraph("kubeflap watched from " + moment(*c.Since) + " to " + moment(answer.AsOf) + ", with gaps. Earlier changes are unknown.")
	default:
		m.paragraph("kubeflap watched from " + moment(*c.Since) + " to " + moment(answer.AsOf) + ", without a gap. Earlier changes are unknown.")
	}
	m.list(append(NotWatched(c), Missing(c)...))
	var rows [][]string
	for _, g := range c.Gaps {
		end, to := answer.AsOf, "ongoing"
		if g.To != nil {
			end, to = *g.To, moment(*g.To)
		}
		rows = append(rows, []string{strings.TrimSpace(g.Cluster + " " + strings.Join(g.Resources, ", ")), moment(g.From), to, phrase.Duration(end.Sub(g.From)), g.Reason, g.MayMiss})
	}
	m.table([]string{"NOT WATCHED", "FROM", "TO", "FOR", "REASON", "MAY MISS"}, rows)
	m.leftOut(c.GapsLeftOut, "older gap is", "older gaps are")
}
