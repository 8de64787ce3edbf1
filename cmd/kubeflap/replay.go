package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strings"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web"
)

func registerReplay(app *kingpin.Application) (string, command) {
	cmd := app.Command("replay", "Replay recordings and serve the metrics of their clusters, in recorded time.")
	files := cmd.Arg("file", "A recording. Several are replayed one after the other, each as a cluster of its own, with the file's name in the label cluster.").Required().Strings()
	var pace speed
	addFlag(cmd, "speed", "1 replays at the recorded speed, 10 ten times as fast.", "1", &pace)
	once := cmd.Flag("once", "Replay without waiting, print the final metrics and exit.").Bool()
	flags := addPipelineFlags(cmd)
	listen := addWebFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		if *once {
			pace = 0
		}
		recordings, err := openRecordings(*files)
		if err != nil {
			return err
		}
		r := newReplay(recordings, float64(pace), flags.settings(), func(cluster string) reporter {
			if cluster == "" {
				return logReporter{p.logger}
			}
			return logReporter{p.logger.With(metrics.ClusterLabel, cluster)}
		})
		if *once {
			p.log.block(p.ctx)
			return r.printFinal(p)
		}
		return r.serve(p, listen)
	}
}

// openRecording is an open recording and its value of the label cluster.
type openRecording struct {
	*recording.Reader
	cluster string
}

// openRecordings opens all files before the first is played, so a mistyped name fails at once.
func openRecordings(files []string) ([]openRecording, error) {
	var all []openRecording
	for _, file := range files {
		reader, err := recording.Open(file)
		if err != nil {
			return nil, err
		}
		name := ""
		if len(files) > 1 {
			// A file's name may be any bytes; a label's value must be text.
			name = printable.Line(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".jsonl"))
		}
		if len(files) > 1 && name == "" {
			return nil, fmt.Errorf("recording %s: its name without the extension is empty, so there is no value for the label %s", file, metrics.ClusterLabel)
		}
		if slices.ContainsFunc(all, func(r openRecording) bool { return len(files) > 1 && r.cluster == name }) {
			return nil, fmt.Errorf("two recordings are named %s: the label cluster could not tell them apart", name)
		}
		all = append(all, openRecording{reader, name})
	}
	return all, nil
}

// replay plays recordings one after the other, each into a pipeline of its own.
type replay struct {
	recordings []openRecording
	clocks     []*recording.Clock
	pipelines  []*pipeline
	// before is called when a recording begins, after when all have been played.
	before func(openRecording)
	after  func(*slog.Logger)
}

// newReplay returns a replay. report returns the reporter of a cluster.
func newReplay(recordings []openRecording, speed float64, settings settings, report func(cluster string) reporter) *replay {
	r := &replay{recordings: recordings, before: func(openRecording) {}, after: func(logger *slog.Logger) {
		logger.Info("replay complete; serving the final state until interrupted")
	}}
	for _, opened := range recordings {
		clock := recording.NewClock(speed)
		r.clocks = append(r.clocks, clock)
		r.pipelines = append(r.pipelines, newPipeline(settings, clock.Now, report(opened.cluster)))
	}
	return r
}

// play plays all recordings. A damaged one is played up to the damage, and the next ones follow.
func (r *replay) play(ctx context.Context) error {
	var failures []error
	for i, opened := range r.recordings {
		r.before(opened)
		err := recording.Play(ctx, opened.Events(), r.clocks[i], r.pipelines[i].apply)
		if ctx.Err() != nil {
			break
		}
		r.pipelines[i].finish()
		failures = append(failures, err, opened.Close())
	}
	return errors.Join(failures...)
}

// page has the metrics of all clusters.
func (r *replay) page(process prometheus.Gatherer) *metrics.Page {
	page := metrics.NewPage(process)
	for i, pipeline := range r.pipelines {
		page.Add(pipeline.collector, r.recordings[i].cluster)
	}
	return page
}

// names are the values of the label cluster: none for a single recording.
func (r *replay) names() []string {
	var all []string
	for _, opened := range r.recordings {
		if opened.cluster != "" {
			all = append(all, opened.cluster)
		}
	}
	return all
}

// printFinal plays all recordings and prints the final metrics.
func (r *replay) printFinal(p program) error {
	failure := r.play(p.ctx)
	scrape, err := r.page(prometheus.NewRegistry()).Scrape()
	if err != nil {
		return errors.Join(failure, fmt.Errorf("gather the metrics: %w", err))
	}
	defer scrape.Done()
	p.log.flush()
	if err := scrape.Write(p.out, expfmt.NewFormat(expfmt.TypeTextPlain)); err != nil {
		return errors.Join(failure, fmt.Errorf("print the metrics: %w", err))
	}
	return failure
}

// serve plays and serves, then serves the final state until interrupted. It logs the error of a damaged recording at once and
// returns it in the end.
func (r *replay) serve(p program, listen *toolkit.FlagConfig) error {
	if err := checkWeb(listen); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(p.ctx)
	var failure error
	group.Go(func() error {
		if failure = r.play(ctx); failure != nil {
			p.logger.Error("a recording could not be replayed completely", "err", failure)
		} else if ctx.Err() == nil {
			r.after(p.logger)
		}
		return nil
	})
	registry := newRegistry(p.log.droppedLines, r.names()...)
	var clusters []web.Cluster
	for i := range r.pipelines {
		cluster := r.pipelines[i].cluster(r.recordings[i].cluster)
		cluster.Recorded = true
		clusters = append(clusters, cluster)
		group.Go(func() error { return r.pipelines[i].tick(ctx) })
	}
	group.Go(func() error {
		return serve(ctx, p, listen, web.Pages{Metrics: r.page(registry), Registry: registry, Clusters: clusters, Unready: r.unready})
	})
	return errors.Join(group.Wait(), failure)
}

// unready returns the resources that the first recording has not listed yet. The replay is ready afterwards, whatever the recordings
// do not hold.
func (r *replay) unready() []watches.Watch {
	if first := r.pipelines[0]; !first.tracker.Synced() {
		return first.unready()
	}
	return nil
}
