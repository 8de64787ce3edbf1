package bench

import (
	"context"
	"fmt"
	"time"

	"gonum.org/v1/gonum/stat"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Grown holds kubeflap's figures in a growing cluster.
type Grown struct {
	Size Size
	// ByKind contains one Line for each kind of object.
	ByKind []Line
}

// Line holds kubeflap's figures for a growing number of objects of one kind. The number of objects of every other kind
// is constant. The field Beside describes those objects.
type Line struct {
	Kind   string
	Beside string
	Points []Point
}

// Point holds kubeflap's figures at a certain number of objects.
type Point struct {
	Objects int
	Figures Figures
}

// grow fills a cluster in steps. It first creates nodes, then pods, and then Services for these pods. It measures
// kubeflap after each step.
func (o Options) grow(ctx context.Context, size Size) (Grown, error) {
	grown := Grown{Size: size}
	c, err := cluster.Start(ctx, clusterOptions(o.Log, ""))
	if err != nil {
		return grown, err
	}
	defer c.Stop()
	f, err := newFilling(ctx, size, c.Config)
	if err != nil {
		return grown, err
	}
	var part Size
	for _, kind := range []struct {
		name   string
		n      *int
		all    int
		beside func() string
	}{
		{"nodes", &part.Nodes, size.Nodes, func() string { return "nothing else" }},
		{"pods", &part.Pods, size.Pods, func() string { return count(float64(size.Nodes)) + " nodes" }},
		{"Services", &part.Services, size.Services, func() string {
			return fmt.Sprintf("%s nodes and %s pods", count(float64(size.Nodes)), count(float64(size.Pods)))
		}},
	} {
		line := Line{Kind: kind.name, Beside: kind.beside()}
		for step := range o.Steps + 1 {
			*kind.n = kind.all * step / o.Steps
			begin := time.Now()
			figures, err := o.growTo(ctx, c, f, part)
			if err != nil {
				return grown, fmt.Errorf("grow to %s: %w", part, err)
			}
			o.Log.Info("measured while growing", "with", part, "took", time.Since(begin).Round(time.Second), "figures", figures)
			line.Points = append(line.Points, Point{Objects: *kind.n, Figures: figures})
		}
		grown.ByKind = append(grown.ByKind, line)
	}
	return grown, nil
}

func (o Options) growTo(ctx context.Context, c *cluster.Cluster, f *filling, part Size) (Figures, error) {
	if err := f.to(ctx, part); err != nil {
		return nil, err
	}
	l, err := newLoad(ctx, part, f.client)
	if err != nil {
		return nil, err
	}
	m := &measurement{pace: o.Pace, cluster: c, load: l, scraper: o.scraper, figures: Figures{}}
	return m.figures, l.during(ctx, func(ctx context.Context) error {
		var err error
		m.running, err = newProgram(Kubeflap, binaries{kubeflap: o.Kubeflap}).start(c)
		if err != nil {
			return err
		}
		defer m.running.process.Stop()
		for _, step := range []func(context.Context) error{m.measureSync, m.measureRest, m.measureScrapes} {
			if err := step(ctx); err != nil {
				return err
			}
		}
		return nil
	})
}

// fit is a line that is fitted to points, with its coefficient of determination (r2).
type fit struct{ base, slope, r2 float64 }

func fitted(x, y []float64) fit {
	base, slope := stat.LinearRegression(x, y, nil, false)
	return fit{base: base, slope: slope, r2: stat.RSquared(x, y, nil, base, slope)}
}

// values returns the numbers of objects (x) and the values of a figure (y).
func (l Line) values(figure Figure) (x, y []float64) {
	for _, p := range l.Points {
		x, y = append(x, float64(p.Objects)), append(y, p.Figures[figure])
	}
	return x, y
}
