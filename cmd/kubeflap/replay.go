package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

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
	cmd := app.Command("replay", "Read recordings and serve the metrics of the clusters that they are of, at their time.")
	files := cmd.Arg("file", "A recording. Several are played one after the other; each is a cluster of its own, with its file's name in the label cluster.").Required().Strings()
	pace := speed(1)
	cmd.Flag("speed", "How many times as fast as it was recorded.").Default("1").SetValue(named{&pace, "speed"})
	once := cmd.Flag("once", "Read everything at once, print the final metrics and exit.").Bool()
	pipeline := addPipelineFlags(cmd)
	listen := addWebFlags(cmd)
	return cmd.FullCommand(), func(p program) error {
		if *once {
			pace = 0
		}
		recordings, err := openRecordings(*files)
		if err != nil {
			return err
		}
		r := newReplay(recordings, float64(pace), pipeline.parsed(), func(cluster string) listener {
			if cluster == "" {
				return logTo(p.logger)
			}
			return logTo(p.logger.With(metrics.ClusterLabel, cluster))
		})
		if *once {
			p.lines.waitForRoom(p.ctx)
			return r.printFinal(p)
		}
		return r.serve(p, listen, newRegistry(p.lines.droppedSoFar))
	}
}

// openRecording is an opened recording and its name in the label cluster.
type openRecording struct {
	*recording.Reader
	cluster string
}

// openRecordings opens all of them before the first is played: a mistyped name
// shows at once.
func openRecordings(files []string) ([]openRecording, error) {
	var all []openRecording
	for _, file := range files {
		reader, err := recording.Open(file)
		if err != nil {
			return nil, err
		}
		name := ""
		if len(files) > 1 {
			// A file may have any name, a label none that is no text.
			name = printable.Line(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".jsonl"))
		}
		if len(files) > 1 && name == "" {
			return nil, fmt.Errorf("recording %s: its name leaves nothing for the label %s", file, metrics.ClusterLabel)
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
	// before is called when a recording begins.
	before func(openRecording)
}

// newReplay makes the replay; listen gives who is told of a cluster's findings and incidents.
func newReplay(recordings []openRecording, speed float64, settings settings, listen func(cluster string) listener) *replay {
	r := &replay{recordings: recordings, before: func(openRecording) {}}
	for _, opened := range recordings {
		clock := recording.NewClock(speed)
		r.clocks = append(r.clocks, clock)
		r.pipelines = append(r.pipelines, newPipeline(settings, clock.Now, listen(opened.cluster)))
	}
	return r
}

// play plays all recordings. A damaged one is played up to the damage, the next ones are played all the same.
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

// page is of all clusters.
func (r *replay) page(process prometheus.Gatherer) *metrics.Page {
	page := metrics.NewPage(process)
	for i, pipeline := range r.pipelines {
		page.Add(pipeline.collector, r.recordings[i].cluster)
	}
	return page
}

// printFinal plays everything at once and prints the metrics as they are in the end.
func (r *replay) printFinal(p program) error {
	failure := r.play(p.ctx)
	scrape, err := r.page(prometheus.NewRegistry()).Scrape()
	if err != nil {
		return errors.Join(failure, fmt.Errorf("gather the metrics: %w", err))
	}
	defer scrape.Done()
	p.lines.flush()
	if err := scrape.Write(p.out, expfmt.NewFormat(expfmt.TypeTextPlain)); err != nil {
		return errors.Join(failure, fmt.Errorf("print the metrics: %w", err))
	}
	return failure
}

// serve plays while it serves, and goes on serving what was reached. What was
// wrong with a recording is said when it is met, and is the exit status in the end.
func (r *replay) serve(p program, listen *toolkit.FlagConfig, registry *prometheus.Registry) error {
	if err := checkWeb(listen); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(p.ctx)
	var failure error
	group.Go(func() error {
		if failure = r.play(ctx); failure != nil {
			p.logger.Error("not everything could be replayed", "err", failure)
		} else if ctx.Err() == nil {
			p.logger.Info("replayed everything; serving the final state until interrupted")
		}
		return nil
	})
	var clusters []web.Cluster
	for i := range r.pipelines {
		clusters = append(clusters, r.pipelines[i].cluster(r.recordings[i].cluster))
		group.Go(func() error { return r.pipelines[i].letTimePass(ctx) })
	}
	group.Go(func() error {
		return serve(ctx, p, listen, pages{r.page(registry), registry, r.unready, clusters, false})
	})
	return errors.Join(group.Wait(), failure)
}

// unready is what of the first recording is not there yet: the others come after it. What was not watched when it was
// recorded does not make the replay unfit to be asked.
func (r *replay) unready() []watches.Watch {
	if first := r.pipelines[0]; !first.tracker.Synced() {
		return first.unready()
	}
	return nil
}

// clockTime is a recorded time as the terminal shows it.
func clockTime(t time.Time) string { return t.UTC().Format("15:04:05.0") }
