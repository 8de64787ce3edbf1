package bench

import (
	"fmt"
	"strings"
)

// growthFigures returns the figures in the table, with the unit of each slope.
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
	var b strings.Builder
	writeRow(&b, []string{"per 1,000 additional", "other objects", "figure", "slope", "at zero", "R²"})
	writeRow(&b, []string{"---", "---", "---", "---", "---", "---"})
	for _, line := range g.ByKind {
		for _, figure := range growthFigures() {
			x, y := line.values(figure.Figure)
			f := fitted(x, y)
			writeRow(&b, []string{line.Kind, line.Beside, string(figure.Figure), figure.unit(f.slope * 1000), figure.unit(f.base), ratio(f.r2)})
		}
	}
	return writePart(page, partGrowth, b.String())
}
