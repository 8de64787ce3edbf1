package bench

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/procfs"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// write writes a result into the page: the figures, and what was to be reached.
func (r Result) write(o Options) error {
	machine, err := machine()
	if err != nil {
		return err
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s. A pod has %s, a node %s in protobuf. Medians of %d runs on %s; %s at rest, %s under load.\n\n",
		r.Size, bytesize(float64(r.PodBytes)), bytesize(float64(r.NodeBytes)), o.Runs, machine, o.Pace.Rest, o.Pace.Load)
	all := map[string]Figures{}
	for name, runs := range r.Runs {
		all[name] = medians(runs)
	}
	ratios := []string{PeerAllowed, FloorTransformer}
	columns := append([]string{""}, o.Programs...)
	for _, other := range ratios {
		columns = append(columns, "kubeflap / "+other)
	}
	writeRow(&b, columns)
	writeRow(&b, slices.Repeat([]string{"---"}, len(columns)))
	for _, row := range rows() {
		cells := []string{string(row.Figure)}
		for _, name := range o.Programs {
			cells = append(cells, cell(all[name], row))
		}
		for _, other := range ratios {
			cells = append(cells, ratioCell(all[Kubeflap], all[other], row))
		}
		writeRow(&b, cells)
	}
	b.WriteString("\n")
	writeRow(&b, []string{"what is to be reached", "at most", "is", ""})
	writeRow(&b, []string{"---", "---", "---", "---"})
	for _, bound := range bounds() {
		bound.write(&b, r.Size, all)
	}
	return writePart(o.Page, r.Size.Name, b.String())
}

func writeRow(b *strings.Builder, cells []string) {
	fmt.Fprintf(b, "| %s |\n", strings.Join(cells, " | "))
}

func cell(figures Figures, row row) string {
	value, measured := figures[row.Figure]
	if !measured {
		return ""
	}
	return row.unit(value)
}

func ratioCell(a, b Figures, row row) string {
	value, measured := a[row.Figure]
	other, comparable := b[row.Figure]
	if !row.ratio || !measured || !comparable || other == 0 {
		return ""
	}
	return ratio(value / other)
}

func ratio(v float64) string { return fmt.Sprintf("%.2f", v) }

// bound is what is to be reached.
type bound struct {
	Figure
	// of is the program whose figure is the measure; without one it is kubeflap's figure than, or if that is empty too, the limit itself.
	of    string
	than  Figure
	limit float64
	unit  unit
	// from is the number of nodes from which on it is to be reached.
	from int
}

// bounds are those of the issue that asked for the benchmark.
func bounds() []bound {
	const fifth, medium, large = 0.2, 1000, 5000
	all := []bound{
		{Figure: RestMemory, of: PeerAllowed, limit: fifth, from: medium},
		{Figure: SteadyMemory, of: PeerAllowed, limit: fifth, from: medium},
		{Figure: PeakMemory, of: PeerAllowed, limit: fifth, from: medium},
		{Figure: SyncedCPU, of: FloorTransformer, limit: 0.7},
		{Figure: EventCPU, of: FloorTransformer, limit: 0.7},
	}
	for _, figure := range []Figure{Series, Scraped, ScrapedBytes, Gzipped, GzippedBytes} {
		all = append(all, bound{Figure: figure, of: PeerAllowed, limit: fifth})
	}
	return append(all,
		bound{Figure: BusyP99, than: BusyMedian, limit: 2},
		bound{Figure: Shown, limit: 0.05, unit: seconds},
		bound{Figure: Scraped, limit: 0.1, unit: seconds, from: large},
		bound{Figure: SyncedWall, limit: 20, unit: seconds, from: large},
		bound{Figure: PeakMemory, limit: 256 << 20, unit: mebibytes, from: large},
	)
}

func (b bound) write(text *strings.Builder, size Size, all map[string]Figures) {
	value, measured := all[Kubeflap][b.Figure]
	what, unit, base := string(b.Figure), b.unit, 1.0
	switch {
	case b.of != "":
		base, what, unit = all[b.of][b.Figure], fmt.Sprintf("%s, of that of %s", what, b.of), ratio
	case b.than != "":
		base, what, unit = all[Kubeflap][b.than], fmt.Sprintf("%s, of the median", what), ratio
	}
	if !measured || base == 0 || size.Nodes < b.from {
		return
	}
	verdict := "reached"
	if value/base > b.limit {
		verdict = "**missed**"
	}
	writeRow(text, []string{what, unit(b.limit), unit(value / base), verdict})
}

// machine says what was measured on.
func machine() (string, error) {
	fs, err := procfs.NewDefaultFS()
	if err != nil {
		return "", fmt.Errorf("read what machine this is: %w", err)
	}
	memory, err := fs.Meminfo()
	if err != nil {
		return "", fmt.Errorf("read what machine this is: %w", err)
	}
	return fmt.Sprintf("%d cores with %.0f GiB (%s/%s), %s, kube-apiserver %s, kube-state-metrics %s", runtime.NumCPU(),
		math.Round(float64(*memory.MemTotalBytes)/(1<<30)), runtime.GOOS, runtime.GOARCH, runtime.Version(), cluster.Newest, PeerVersion), nil
}

// growthFigures are those that are plotted.
func growthFigures() []row {
	const mib = 1 << 20
	scaled := func(factor float64, format string) unit {
		return func(v float64) string { return fmt.Sprintf(format, v*factor) }
	}
	return []row{
		{Figure: SteadyMemory, unit: scaled(1.0/mib, "%.3g MiB")},
		{Figure: RestCPU, unit: scaled(1000, "%.3g ms")},
		{Figure: Scraped, unit: scaled(1000, "%.3g ms")},
		{Figure: Series, unit: scaled(1, "%.0f")},
	}
}

// write draws the growth and writes how steep it is.
func (g Grown) write(page string) error {
	const name = "performance-growth.svg"
	var b strings.Builder
	fmt.Fprintf(&b, "![Memory, CPU and scrape time over the number of objects](%s)\n\n", name)
	writeRow(&b, []string{"for each 1,000 more", "beside", "", "slope", "at none", "R²"})
	writeRow(&b, []string{"---", "---", "---", "---", "---", "---"})
	var panels [][]panel
	for _, line := range g.ByKind {
		var row []panel
		for _, figure := range growthFigures() {
			x, y := line.values(figure.Figure)
			f := fitted(x, y)
			writeRow(&b, []string{line.Kind, line.Beside, string(figure.Figure), figure.unit(f.slope * 1000), figure.unit(f.base), ratio(f.r2)})
			row = append(row, growthPanel(line.Kind, figure.Figure, x, y, f))
		}
		panels = append(panels, row)
	}
	if err := drawPanels(filepath.Join(filepath.Dir(page), name), panels); err != nil {
		return err
	}
	return writePart(page, "growth", b.String())
}

// growthPanel is the plot of one figure, in the unit of its axis.
func growthPanel(kind string, figure Figure, x, y []float64, f fit) panel {
	factor, axis := 1.0, string(figure)
	switch figure {
	case SteadyMemory:
		factor, axis = 1.0/(1<<20), axis+" (MiB)"
	case RestCPU:
		axis += " (s)"
	case Scraped:
		factor, axis = 1000, axis+" (ms)"
	}
	for i := range y {
		y[i] *= factor
	}
	f.base, f.slope = f.base*factor, f.slope*factor
	return panel{title: axis, x: kind, xs: x, ys: y, line: f}
}

// write draws the churn and writes how flat it is.
func (c Churned) write(page string) error {
	const name = "performance-churn.svg"
	var b strings.Builder
	fmt.Fprintf(&b, "%s, and for %s a new Service with %d pods every %s while the oldest of %d goes: %s came and went, all with names of their own.\n\n",
		c.Size, c.Duration, churnPods, churnPeriod, churnStanding, count(float64(c.Services)))
	fmt.Fprintf(&b, "![What kubeflap uses while pods and Services come and go](%s)\n\n", name)
	writeRow(&b, []string{"", "mean", "slope in an hour", "of the mean"})
	writeRow(&b, []string{"---", "---", "---", "---"})
	var panels [][]panel
	for _, v := range []struct {
		what, axis string
		factor     float64
		of         func(Sample) float64
	}{
		{"Memory", "MiB", 1.0 / (1 << 20), func(s Sample) float64 { return s.Memory }},
		{"Heap at the next collection", "MiB", 1.0 / (1 << 20), func(s Sample) float64 { return s.Heap }},
		{"CPU per minute", "s", 1, func(s Sample) float64 { return s.CPUPerMinute }},
		{"Series", "", 1, func(s Sample) float64 { return s.Series }},
		{"Goroutines", "", 1, func(s Sample) float64 { return s.Goroutines }},
	} {
		var x, y []float64
		for _, s := range c.settled() {
			x, y = append(x, s.After.Hours()), append(y, v.of(s)*v.factor)
		}
		f, average := fitted(x, y), mean(y)
		writeRow(&b, []string{
			v.what, fmt.Sprintf("%.4g %s", average, v.axis), fmt.Sprintf("%+.3g %s", f.slope, v.axis), fmt.Sprintf("%+.1f %%", f.slope/average*100),
		})
		for i := range x {
			x[i] *= 60
		}
		f.slope /= 60
		panels = append(panels, []panel{{title: v.what, x: "minutes", y: v.axis, xs: x, ys: y, line: f}})
	}
	if err := drawPanels(filepath.Join(filepath.Dir(page), name), panels); err != nil {
		return err
	}
	return writePart(page, "churn", b.String())
}

// settled are the samples after the first sixth of the time: kubeflap keeps some minutes of the past, which fill up first.
func (c Churned) settled() (samples []Sample) {
	for _, s := range c.Samples {
		if s.After > min(c.Duration/6, 10*time.Minute) {
			samples = append(samples, s)
		}
	}
	return samples
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
