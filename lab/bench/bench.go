// Package bench measures what kubeflap needs on a real API server filled as real clusters are, beside kube-state-metrics and the
// least that a client of the API can do.
package bench

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/lab/cluster"
)

// Options is what to measure.
type Options struct {
	// Kubeflap is the binary to measure.
	Kubeflap string
	Sizes    []Size
	Runs     int
	// Programs are those to compare; empty is all of them.
	Programs []string
	Pace     Pace
	// Page is the document whose tables are written.
	Page string
	Log  *slog.Logger
}

// Result is what was measured at one size: of each program the figures of each run.
type Result struct {
	Size Size
	Runs map[string][]Figures
}

// Run measures all sizes, and writes the page after each.
func Run(ctx context.Context, o Options) ([]Result, error) {
	if len(o.Programs) == 0 {
		o.Programs = Programs()
	}
	dir, err := os.MkdirTemp("", "kubeflap-bench-")
	if err != nil {
		return nil, fmt.Errorf("create a folder: %w", err)
	}
	defer os.RemoveAll(dir)
	built, err := o.build(ctx, dir)
	if err != nil {
		return nil, err
	}
	var results []Result
	for _, size := range o.Sizes {
		result, err := o.measure(ctx, size, built)
		if err != nil {
			return results, fmt.Errorf("bench with %s: %w", size, err)
		}
		results = append(results, result)
		if err := writePart(o.Page, size.Name, result.table(o)); err != nil {
			return results, err
		}
	}
	return results, nil
}

func (o Options) build(ctx context.Context, dir string) (b binaries, err error) {
	b.kubeflap = o.Kubeflap
	if slices.Contains(o.Programs, PeerWhole) || slices.Contains(o.Programs, PeerAllowed) {
		if b.peer, err = buildPeer(ctx, o.Log); err != nil {
			return b, err
		}
	}
	b.floor, err = buildFloor(ctx, dir)
	return b, err
}

// measure measures all programs at one size, one after the other against the same API server. Each run begins with another.
func (o Options) measure(ctx context.Context, size Size, b binaries) (Result, error) {
	result := Result{Size: size, Runs: map[string][]Figures{}}
	data, err := populated(ctx, o.Log, size)
	if err != nil {
		return result, err
	}
	return result, withLoad(ctx, o.Log, size, data, func(ctx context.Context, c *cluster.Cluster, l *load) error {
		for run := range o.Runs {
			for i := range o.Programs {
				name := o.Programs[(i+run)%len(o.Programs)]
				begin := time.Now()
				figures, err := measure(ctx, c, l, newProgram(name, b), o.Pace)
				if err != nil {
					return err
				}
				result.Runs[name] = append(result.Runs[name], figures)
				o.Log.Info("measured", "size", size.Name, "run", run+1, "program", name, "took", time.Since(begin).Round(time.Second), "figures", figures)
			}
		}
		return nil
	})
}

// withLoad does something on a cluster whose Leases are renewed meanwhile.
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
	return l.during(ctx, func(ctx context.Context) error { return do(ctx, c, l) })
}

// during does something while Leases are renewed, once each has been renewed.
func (l *load) during(ctx context.Context, do func(context.Context) error) error {
	if err := l.renewAll(ctx); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(ctx)
	beating, silence := context.WithCancel(ctx)
	group.Go(func() error { return l.beat(beating) })
	group.Go(func() error {
		defer silence()
		return do(ctx)
	})
	return group.Wait()
}
