package bench

import (
	"bytes"
	"fmt"
	"image/color"
	"os"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgsvg"
)

// panel is one of several plots in a file.
type panel struct {
	title, x string
	xs, ys   []float64
	// line is the result of a linear regression.
	line fit
}

const (
	pageWidth   = 10 * vg.Inch
	panelHeight = 1.8 * vg.Inch
)

// drawPanels writes rows of plots to an SVG file. The background is white, so that the plots are readable on any page.
func drawPanels(path string, rows [][]panel) error {
	canvas := vgsvg.New(pageWidth, panelHeight*vg.Length(len(rows)))
	var plots [][]*plot.Plot
	for _, row := range rows {
		var line []*plot.Plot
		for _, p := range row {
			drawn, err := p.plot()
			if err != nil {
				return err
			}
			line = append(line, drawn)
		}
		plots = append(plots, line)
	}
	page := draw.New(canvas)
	page.SetColor(color.White)
	page.Fill(page.Rectangle.Path())
	tiles := draw.Tiles{
		Rows: len(rows), Cols: len(rows[0]), PadTop: vg.Points(6), PadBottom: vg.Points(6), PadLeft: vg.Points(6), PadRight: vg.Points(12),
		PadX: vg.Points(10), PadY: vg.Points(10),
	}
	for i, line := range plot.Align(plots, tiles, page) {
		for j, tile := range line {
			plots[i][j].Draw(tile)
		}
	}
	var svg bytes.Buffer
	if _, err := canvas.WriteTo(&svg); err != nil {
		return fmt.Errorf("draw %s: %w", path, err)
	}
	// Add other fonts, because Liberation Sans may not be installed where the file is viewed.
	text := bytes.ReplaceAll(svg.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,sans-serif;"))
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return fmt.Errorf("write the plot: %w", err)
	}
	return nil
}

func (p panel) plot() (*plot.Plot, error) {
	drawn := plot.New()
	drawn.Title.Text, drawn.X.Label.Text = p.title, p.x
	for _, style := range []*font.Font{
		&drawn.Title.TextStyle.Font, &drawn.X.Label.TextStyle.Font, &drawn.X.Tick.Label.Font, &drawn.Y.Tick.Label.Font,
	} {
		style.Variant, style.Size = "Sans", vg.Points(9)
	}
	points := make(plotter.XYs, len(p.xs))
	for i := range p.xs {
		points[i].X, points[i].Y = p.xs[i], p.ys[i]
	}
	marks, err := plotter.NewScatter(points)
	if err != nil {
		return nil, fmt.Errorf("plot %s: %w", p.title, err)
	}
	blue := color.RGBA{R: 0x1f, G: 0x5f, B: 0xa8, A: 0xff}
	marks.GlyphStyle = draw.GlyphStyle{Color: blue, Radius: vg.Points(2), Shape: draw.CircleGlyph{}}
	line := plotter.NewFunction(func(x float64) float64 { return p.line.base + p.line.slope*x })
	line.Color, line.Samples = color.Gray{Y: 0x80}, 2
	drawn.Add(plotter.NewGrid(), line, marks)
	// The axis starts at 0, so that a small slope looks small.
	drawn.Y.Min, drawn.Y.Max = min(0, drawn.Y.Min), drawn.Y.Max*1.1
	return drawn, nil
}
