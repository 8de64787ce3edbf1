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
	// growthSteps is in how many steps a cluster grows by each kind of object.
	growthSteps = 4
	// settle is how long a program is left alone before it is measured.
	settle = time.Second
	// scrapes are made of each kind, probes for each time between an event and a scrape: of fewer 99 % would not be less than all.
	scrapes, probes = 20, 100
)

// benchFlags are those of the benchmark.
type benchFlags struct {
	options bench.Options
	sizes   []string
	grow    string
}

func addBenchFlags(cmd *kingpin.CmdClause) *benchFlags {
	f := &benchFlags{}
	o := &f.options
	o.Steps, o.Pace = growthSteps, bench.Pace{Settle: settle, Scrapes: scrapes, Probes: probes}
	cmd.Flag("kubeflap", "The kubeflap binary to measure.").Required().ExistingFileVar(&o.Kubeflap)
	var sizes []string
	for _, size := range bench.Sizes() {
		sizes = append(sizes, size.Name)
	}
	cmd.Flag("size", "Size of the cluster; repeatable.").EnumsVar(&f.sizes, sizes...)
	cmd.Flag("runs", "How often all is measured; medians count.").Default("3").IntVar(&o.Runs)
	cmd.Flag("program", "Measure only this program; repeatable.").EnumsVar(&o.Programs, bench.Programs()...)
	cmd.Flag("rest", "For how long a program is watched at rest.").Default("1m").DurationVar(&o.Pace.Rest)
	cmd.Flag("load", "For how long it is watched under load.").Default("1m").DurationVar(&o.Pace.Load)
	cmd.Flag("events", "Events that come in a second under load.").Default("500").Float64Var(&o.Pace.Events)
	cmd.Flag("page", "The document whose tables are written.").Default("../docs/performance.md").ExistingFileVar(&o.Page)
	cmd.Flag("growth", "Measure kubeflap while a cluster grows up to this size.").EnumVar(&f.grow, sizes...)
	cmd.Flag("churn", "For how long kubeflap is measured while pods and Services come and go, at the smallest size.").DurationVar(&o.Churn)
	cmd.Flag("profile", "Folder for profiles of kubeflap at each size: of its CPU until synced, under load and scraped without a pause, and of its heap. "+
		"For go tool pprof; the size is not measured then. It is built anew, from --source.").ExistingDirVar(&o.Profiles)
	cmd.Flag("source", "Folder of kubeflap's source.").Default("..").ExistingDirVar(&o.Source)
	cmd.Validate(func(*kingpin.CmdClause) error { return f.validate() })
	return f
}

// validate finds what would measure nothing.
func (f *benchFlags) validate() error {
	switch o := f.options; {
	case len(f.sizes) == 0 && f.grow == "" && o.Churn == 0:
		return errors.New("nothing to measure: give --size, --growth or --churn")
	case o.Runs < 1:
		return fmt.Errorf("--runs=%d: must be 1 or more", o.Runs)
	case o.Pace.Rest <= 0 || o.Pace.Load <= 0 || o.Churn < 0:
		return errors.New("--rest, --load and --churn: must be longer than nothing")
	case o.Pace.Events <= 0:
		return fmt.Errorf("--events=%g: must be more than none", o.Pace.Events)
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
	if f.grow != "" {
		size, err := bench.FindSize(f.grow)
		if err != nil {
			return err
		}
		f.options.Grow = size
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return fmt.Errorf("find a folder for filled clusters: %w", err)
	}
	f.options.Cache = filepath.Join(cache, "kubeflap-lab")
	f.options.ChurnSize = bench.Sizes()[0]
	_, err = bench.Run(ctx, f.options)
	return err
}
