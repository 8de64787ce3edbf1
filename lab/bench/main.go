// Command bench measures the resource usage of kubeflap on a real API server, with as many objects as in real clusters.
// It compares kubeflap with kube-state-metrics and a minimal API client.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
	"github.com/kubeflap/kubeflap/lab/steps"
)

// page is the path of the document with the result tables, relative to the lab's directory.
const page = "../docs/performance.md"

// Options configures a benchmark.
type Options struct {
	// Kubeflap is the path of the binary to measure.
	Kubeflap string
	// Sizes lists the names of the sizes.
	Sizes []string
	Runs  int
	// Recorder is the duration of the comparison of kubeflap with and without --data.dir.
	Recorder time.Duration
	Log      *slog.Logger

	// dir is a temporary directory. It and the scraper are set by run.
	dir     string
	scraper *scraper
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	o := options(os.Args[1:])
	err := steps.Run(func() { o.run(ctx) })
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func options(args []string) *Options {
	o := &Options{Log: slog.New(slog.NewTextHandler(os.Stderr, nil))}
	app := kingpin.New("bench", "Compares kubeflap with kube-state-metrics and a minimal client, and writes the results to the page.")
	app.Flag("kubeflap", "Path of the kubeflap binary to measure.").Required().ExistingFileVar(&o.Kubeflap)
	var sizes []string
	for _, size := range Sizes() {
		sizes = append(sizes, size.Name)
	}
	app.Flag("size", "Size of the cluster. Repeatable.").EnumsVar(&o.Sizes, sizes...)
	app.Flag("runs", "Number of runs. The tables show medians.").Default("3").IntVar(&o.Runs)
	app.Flag("recorder", "Duration of the comparison of kubeflap with and without --data.dir, in a cluster of the medium size.").DurationVar(&o.Recorder)
	kingpin.MustParse(app.Parse(args))
	return o
}

// Result holds the measured figures of all programs at one size. Runs maps the name of each program to the figures of
// its runs.
type Result struct {
	Size Size
	Runs map[string][]Figures
}

// part is a measurement. Its name is the part of the page with its results.
type part struct {
	name    string
	measure func()
}

// parts returns all requested measurements.
func (o *Options) parts(ctx context.Context) (all []part) {
	for _, size := range Sizes() {
		if slices.Contains(o.Sizes, size.Name) {
			all = append(all, part{size.Name, func() { o.compare(ctx, size).write(o) }})
		}
	}
	if o.Recorder > 0 {
		all = append(all, part{partRecorder, func() { o.record(ctx, Sizes()[1]).write() }})
	}
	return all
}

// run runs all requested measurements. It writes the results of each measurement to the page immediately. It first
// checks the page, because a missing marker would otherwise fail the benchmark only after an hour.
func (o *Options) run(ctx context.Context) {
	parts := o.parts(ctx)
	if len(parts) == 0 {
		steps.Must(errors.New("nothing to measure: set --size or --recorder"))
	}
	for _, part := range parts {
		around(part.name)
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
}

// compare measures all programs at one size. It measures one program after another, with the same API server. Each run
// begins with a different program.
func (o *Options) compare(ctx context.Context, size Size) Result {
	result, programs := Result{Size: size, Runs: map[string][]Figures{}}, Programs()
	built := binaries{kubeflap: o.Kubeflap, peer: buildPeer(ctx, o.Log), floor: buildTool(ctx, o.dir, "floor")}
	o.withLoad(ctx, size, func(ctx context.Context, c *cluster.Cluster, l *load) {
		for run := range o.Runs {
			for i := range programs {
				name := programs[(i+run)%len(programs)]
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
