package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/lab/bench"
)

const (
	// settle is the pause before a measurement.
	settle = time.Second
	// scrapes is the number of scrapes for each encoding. probes is the number of latency measurements for each delay.
	// At least 100 measurements are necessary to find out whether 99 % of them succeed.
	scrapes, probes = 20, 100
)

// benchFlags holds the flags of the bench command.
type benchFlags struct {
	options bench.Options
	sizes   []string
}

func addBenchFlags(cmd *kingpin.CmdClause) *benchFlags {
	f := &benchFlags{}
	o := &f.options
	o.Pace = bench.Pace{Settle: settle, Scrapes: scrapes, Probes: probes}
	cmd.Flag("kubeflap", "Path of the kubeflap binary to measure.").Required().ExistingFileVar(&o.Kubeflap)
	var sizes []string
	for _, size := range bench.Sizes() {
		sizes = append(sizes, size.Name)
	}
	cmd.Flag("size", "Size of the cluster. Repeatable.").EnumsVar(&f.sizes, sizes...)
	cmd.Flag("runs", "Number of runs. The tables show medians.").Default("3").IntVar(&o.Runs)
	cmd.Flag("program", "Measure only this program. Repeatable.").EnumsVar(&o.Programs, bench.Programs()...)
	cmd.Flag("rest", "Duration of the measurement at rest.").Default("1m").DurationVar(&o.Pace.Rest)
	cmd.Flag("load", "Duration of the measurement under load.").Default("1m").DurationVar(&o.Pace.Load)
	cmd.Flag("events", "Number of events per second under load.").Default("500").Float64Var(&o.Pace.Events)
	cmd.Flag("page", "Document with the tables to update.").Default("../docs/performance.md").ExistingFileVar(&o.Page)
	cmd.Flag("recorder", "Duration of the comparison of kubeflap with and without --data.dir, in a cluster of the medium size.").DurationVar(&o.Recorder)
	cmd.Flag("profile", "Directory for CPU and heap profiles of kubeflap at each size, until it is synced, under load and during continuous scrapes. If set, sizes are profiled instead of measured. Open the profiles with go tool pprof.").ExistingDirVar(&o.Profiles)
	cmd.Validate(func(*kingpin.CmdClause) error { return f.validate() })
	return f
}

// validate returns an error if the flags select no measurement, or contain invalid values.
func (f *benchFlags) validate() error {
	switch o := f.options; {
	case len(f.sizes) == 0 && o.Recorder == 0:
		return errors.New("nothing to measure: set --size or --recorder")
	case o.Runs < 1:
		return fmt.Errorf("--runs=%d: must be at least 1", o.Runs)
	case o.Pace.Rest <= 0 || o.Pace.Load <= 0 || o.Recorder < 0:
		return errors.New("--rest, --load and --recorder: must be positive")
	case o.Pace.Events <= 0:
		return fmt.Errorf("--events=%g: must be positive", o.Pace.Events)
	}
	return nil
}

func (f *benchFlags) run(ctx context.Context, log *slog.Logger) error {
	f.options.Log = log
	for _, name := range f.sizes {
		size, err := bench.FindSize(name)
		if err != nil {
			return err
		}
		f.options.Sizes = append(f.options.Sizes, size)
	}
	if len(f.options.Programs) == 0 {
		f.options.Programs = bench.Programs()
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
