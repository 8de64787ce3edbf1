package bench

import (
	"fmt"
	"path/filepath"
	"strings"
)

// growthFigures returns the figures to plot, with the unit of each slope.
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

func (g Grown) write(page string) error {
	const name = "performance-growth.svg"
	var b strings.Builder
	fmt.Fprintf(&b, "![Memory, CPU, scrape time and series by number of objects](%s)\n\n", name)
	writeRow(&b, []string{"per 1,000 additional", "other objects", "figure", "slope", "at zero", "R²"})
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
	return writePart(page, partGrowth, b.String())
}

// growthPanel returns the plot of one figure. It converts the values to the unit of the axis.
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
