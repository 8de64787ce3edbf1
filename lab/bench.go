package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/lab/bench"
)

// benchFlags holds the flags of the bench command.
type benchFlags struct {
	options bench.Options
	sizes   []string
}

func addBenchFlags(cmd *kingpin.CmdClause) *benchFlags {
	// At least 100 measurements of the latency are necessary to find out whether 99 % of them succeed.
	pace := bench.Pace{Rest: time.Minute, Load: time.Minute, Events: 500, Settle: time.Second, Scrapes: 20, Probes: 100}
	f := &benchFlags{options: bench.Options{Programs: bench.Programs(), Pace: pace, Page: "../docs/performance.md"}}
	o := &f.options
	cmd.Flag("kubeflap", "Path of the kubeflap binary to measure.").Required().ExistingFileVar(&o.Kubeflap)
	var sizes []string
	for _, size := range bench.Sizes() {
		sizes = append(sizes, size.Name)
	}
	cmd.Flag("size", "Size of the cluster. Repeatable.").EnumsVar(&f.sizes, sizes...)
	cmd.Flag("runs", "Number of runs. The tables show medians.").Default("3").IntVar(&o.Runs)
	cmd.Flag("recorder", "Duration of the comparison of kubeflap with and without --data.dir, in a cluster of the medium size.").DurationVar(&o.Recorder)
	return f
}

func (f *benchFlags) run(ctx context.Context, log *slog.Logger) error {
	if f.options.Log = log; len(f.sizes) == 0 && f.options.Recorder <= 0 {
		return errors.New("nothing to measure: set --size or --recorder")
	}
	for _, size := range bench.Sizes() {
		if slices.Contains(f.sizes, size.Name) {
			f.options.Sizes = append(f.options.Sizes, size)
		}
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a directory for filled clusters: %w", err)
	}
	f.options.Cache = filepath.Join(cache, "kubeflap-lab")
	f.options.RecorderSize = bench.Sizes()[1]
	_, err = bench.Run(ctx, f.options)
	return err
}
