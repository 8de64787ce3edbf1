// Package bench measures the resource usage of kubeflap on a real API server, with as many objects as in real clusters.
// It compares kubeflap with kube-state-metrics and a minimal API client.
package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
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
	// Profiles is a directory for profiles of kubeflap. If it is set, the benchmark profiles kubeflap at each of the
	// Sizes, instead of comparing the programs. Source is the directory of the source code for the profiled binary.
	Profiles, Source string
	Log              *slog.Logger

	// scraper is set by Run.
	scraper *scraper
}

// Result holds the measured figures of all programs at one size. Runs maps the name of each program to the figures of
// its runs.
type Result struct {
	Size Size
	Runs map[string][]Figures
	// PodBytes and NodeBytes are the sizes of one pod and one node in protobuf.
	PodBytes, NodeBytes int
}

// Measured holds all results of a benchmark.
type Measured struct {
	Results  []Result
	Recorded Recorded
}

// part is a measurement. Its name is the part of the page with its results, or empty.
type part struct {
	name    string
	measure func(context.Context) error
}

// parts returns all requested measurements.
func (o Options) parts(m *Measured) (all []part) {
	for _, size := range o.Sizes {
		if o.Profiles != "" {
			all = append(all, part{"", func(ctx context.Context) error { return o.profile(ctx, size) }})
			continue
		}
		all = append(all, part{size.Name, func(ctx context.Context) error { return o.measureSize(ctx, size, m) }})
	}
	if o.Recorder > 0 {
		all = append(all, part{partRecorder, func(ctx context.Context) (err error) {
			if m.Recorded, err = o.record(ctx, o.RecorderSize, o.Recorder); err != nil {
				return err
			}
			return m.Recorded.write(o.Page)
		}})
	}
	return all
}

// Run runs all requested measurements. It writes the results of each measurement to the page immediately. It first
// checks the page, because a missing marker would otherwise fail the benchmark only after an hour.
func Run(ctx context.Context, o Options) (m Measured, err error) {
	for _, part := range o.parts(&m) {
		if part.name == "" {
			continue
		}
		if _, _, err := around(o.Page, part.name); err != nil {
			return m, err
		}
	}
	dir, err := os.MkdirTemp("", "kubeflap-bench-")
	if err != nil {
		return m, fmt.Errorf("create a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	scraper, err := startScraper(ctx, dir)
	if err != nil {
		return m, err
	}
	defer scraper.stop()
	o.scraper = scraper
	var failures []error
	for _, part := range o.parts(&m) {
		if ctx.Err() != nil {
			break
		}
		if err := part.measure(ctx); err != nil {
			failures = append(failures, fmt.Errorf("measure %s: %w", cmp.Or(part.name, "with a profile"), err))
		}
	}
	return m, errors.Join(failures...)
}

// measureSize measures all programs at one size.
func (o Options) measureSize(ctx context.Context, size Size, m *Measured) error {
	result, err := o.compare(ctx, size)
	if err != nil {
		return err
	}
	m.Results = append(m.Results, result)
	return result.write(o)
}

// compare measures all programs at one size. It measures one program after another, with the same API server. Each run
// begins with a different program.
func (o Options) compare(ctx context.Context, size Size) (Result, error) {
	result := Result{Size: size, Runs: map[string][]Figures{}}
	dir, err := os.MkdirTemp("", "kubeflap-bench-")
	if err != nil {
		return result, fmt.Errorf("create a directory: %w", err)
	}
	defer os.RemoveAll(dir)
	built, err := o.build(ctx, dir)
	if err != nil {
		return result, err
	}
	data, err := o.populated(ctx, size)
	if err != nil {
		return result, err
	}
	err = withLoad(ctx, o.Log, size, data, func(ctx context.Context, c *cluster.Cluster, l *load) error {
		result.PodBytes, result.NodeBytes = l.probe.pods[0].Size(), l.nodes[0].Size()
		return o.measureAll(ctx, c, l, built, &result)
	})
	return result, err
}

func (o Options) measureAll(ctx context.Context, c *cluster.Cluster, l *load, built binaries, result *Result) error {
	for run := range o.Runs {
		for i := range o.Programs {
			name := o.Programs[(i+run)%len(o.Programs)]
			begin := time.Now()
			figures, err := o.measure(ctx, c, l, newProgram(name, built))
			if err != nil {
				return fmt.Errorf("measure %s: %w", name, err)
			}
			result.Runs[name] = append(result.Runs[name], figures)
			o.Log.Info("measured", "size", result.Size.Name, "run", run+1, "program", name, "took", time.Since(begin).Round(time.Second), "figures", figures)
		}
	}
	return nil
}

func (o Options) build(ctx context.Context, dir string) (b binaries, err error) {
	b.kubeflap = o.Kubeflap
	if slices.Contains(o.Programs, Peer) {
		if b.peer, err = buildPeer(ctx, o.Log); err != nil {
			return b, err
		}
	}
	b.floor, err = buildTool(ctx, dir, "floor")
	return b, err
}

// withLoad starts a cluster, and renews the Leases of its nodes while the function do runs.
func withLoad(ctx context.Context, log *slog.Logger, size Size, data string, do func(context.Context, *cluster.Cluster, *load) error) error {
	c, err := cluster.Start(ctx, clusterOptions(log, data))
	if err != nil {
		return err
	}
	defer c.Stop()
	client, err := protobufClient(c.Config)
	if err != nil {
		return err
	}
	l, err := newLoad(ctx, size, client)
	if err != nil {
		return err
	}
	if err := l.readApps(ctx); err != nil {
		return err
	}
	if err := l.renewAll(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	beating, silence := context.WithCancel(ctx)
	group.Go(func() error { return l.beat(beating) })
	group.Go(func() error {
		defer silence()
		return do(ctx, c, l)
	})
	return group.Wait()
}
