package bench

import (
	"fmt"
	"os"
	"strings"
)

// table writes a result as Markdown.
func (r Result) table(o Options) string {
	var b strings.Builder
	all := map[string]Figures{}
	for name, runs := range r.Runs {
		all[name] = medians(runs)
	}
	fmt.Fprintf(&b, "%s\n\n", o.conditions(r.Size))
	columns := append([]string{""}, o.Programs...)
	ratios := []string{PeerAllowed, FloorTransformer}
	for _, other := range ratios {
		columns = append(columns, "kubeflap / "+other)
	}
	fmt.Fprintf(&b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
	for _, row := range rows() {
		cells := []string{strings.TrimSpace(string(row.Figure))}
		for _, name := range o.Programs {
			cells = append(cells, cell(all[name], row.Figure, row.unit))
		}
		for _, other := range ratios {
			cells = append(cells, ratioCell(all[Kubeflap], all[other], row))
		}
		fmt.Fprintf(&b, "| %s |\n", strings.Join(cells, " | "))
	}
	return b.String()
}

func cell(figures Figures, figure Figure, unit unit) string {
	value, measured := figures[figure]
	if !measured {
		return ""
	}
	return unit(value)
}

func ratioCell(a, b Figures, row row) string {
	value, measured := a[row.Figure]
	other, comparable := b[row.Figure]
	if !row.ratio || !measured || !comparable || other == 0 {
		return ""
	}
	return fmt.Sprintf("%.2f", value/other)
}

func (o Options) conditions(size Size) string {
	return fmt.Sprintf("%s; medians of %d runs.", size, o.Runs)
}

// writePart replaces a part of a document, between its markers.
func writePart(path, part, text string) error {
	old, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("read the page: %w", err)
	}
	begin, end := fmt.Sprintf("<!-- bench %s -->\n", part), fmt.Sprintf("<!-- end of bench %s -->\n", part)
	before, rest, found := strings.Cut(string(old), begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return fmt.Errorf("write into %s: it has no line %s followed by a line %s", path, strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	if err := os.WriteFile(path, []byte(before+begin+"\n"+text+"\n"+end+after), 0o644); err != nil {
		return fmt.Errorf("write the page: %w", err)
	}
	return nil
}
