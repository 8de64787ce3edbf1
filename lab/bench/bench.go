// Package bench measures the resource usage of kubeflap on a real API server, with as many objects as in real clusters.
// It compares kubeflap with kube-state-metrics and a minimal API client.
package bench

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// Options configures a benchmark.
type Options struct {
	// Kubeflap is the path of the binary to measure.
	Kubeflap string
	Sizes    []Size
	Runs     int
	// Recorder is the duration of the comparison of kubeflap with and without --data.dir. RecorderSize is the size of
	// the cluster for this comparison.
	Recorder     time.Duration
	RecorderSize Size
	// Programs lists the names of the programs to compare.
	Programs []string
	Pace     Pace
	// Cache is the directory for the etcd data of clusters that the benchmark has filled with objects.
	Cache string
	// Page is the path of the document with the result tables.
	Page string
	Log  *slog.Logger

	// dir is a temporary directory. It and the scraper are set by Run.
	dir     string
	scraper *scraper
}

// Result holds the measured figures of all programs at one size. Runs maps the name of each program to the figures of
// its runs.
type Result struct {
	Size Size
	Runs map[string][]Figures
}

// Measured holds all results of a benchmark.
type Measured struct {
	Results  []Result
	Recorded Recorded
}

// part is a measurement. Its name is the part of the page with its results.
type part struct {
	name    string
	measure func()
}

// parts returns all requested measurements.
func (o *Options) parts(ctx context.Context, m *Measured) (all []part) {
	for _, size := range o.Sizes {
		all = append(all, part{size.Name, func() {
			result := o.compare(ctx, size)
			m.Results = append(m.Results, result)
			result.write(o)
		}})
	}
	if o.Recorder > 0 {
		all = append(all, part{partRecorder, func() {
			m.Recorded = o.record(ctx, o.RecorderSize, o.Recorder)
			m.Recorded.write(o.Page)
		}})
	}
	return all
}

// Run runs all requested measurements. It writes the results of each measurement to the page immediately. It first
// checks the page, because a missing marker would otherwise fail the benchmark only after an hour.
func Run(ctx context.Context, o Options) (m Measured, err error) {
	err = steps.Run(func() {
		parts := o.parts(ctx, &m)
		for _, part := range parts {
			around(o.Page, part.name)
		}
		o.dir = steps.Value(os.MkdirTemp("", "kubeflap-bench-"))
		defer os.RemoveAll(o.dir)
		o.scraper = startScraper(ctx, o.dir)
		defer o.scraper.stop()
		var failures []error
		for _, part := range parts {
			if ctx.Err() != nil {
				break
			}
			if err := steps.Run(part.measure); err != nil {
				failures = append(failures, fmt.Errorf("measure %s: %w", part.name, err))
			}
		}
		steps.Must(errors.Join(failures...))
	})
	return m, err
}

// compare measures all programs at one size. It measures one program after another, with the same API server. Each run
// begins with a different program.
func (o *Options) compare(ctx context.Context, size Size) Result {
	result := Result{Size: size, Runs: map[string][]Figures{}}
	built := binaries{kubeflap: o.Kubeflap, floor: buildTool(ctx, o.dir, "floor")}
	if slices.Contains(o.Programs, Peer) {
		built.peer = buildPeer(ctx, o.Log)
	}
	o.withLoad(ctx, size, func(ctx context.Context, c *cluster.Cluster, l *load) {
		for run := range o.Runs {
			for i := range o.Programs {
				name := o.Programs[(i+run)%len(o.Programs)]
				begin := time.Now()
				figures := o.measure(ctx, c, l, newProgram(name, built))
				result.Runs[name] = append(result.Runs[name], figures)
				o.Log.Info("measured", "size", size.Name, "run", run+1, "program", name, "took", time.Since(begin).Round(time.Second), "figures", figures)
			}
		}
	})
	return result
}

// withLoad starts a cluster of the given size, and renews the Leases of its nodes while the function do runs.
func (o *Options) withLoad(ctx context.Context, size Size, do func(context.Context, *cluster.Cluster, *load)) {
	c := steps.Value(cluster.Start(ctx, clusterOptions(o.Log, o.populated(ctx, size))))
	defer c.Stop()
	l := newLoad(ctx, size, protobufClient(c.Config))
	group, ctx := errgroup.WithContext(ctx)
	beating, silence := context.WithCancel(ctx)
	group.Go(func() error { return l.beat(beating) })
	group.Go(func() error {
		defer silence()
		return steps.Run(func() { do(ctx, c, l) })
	})
	steps.Must(group.Wait())
}
