package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/common/expfmt"
	toolkit "github.com/prometheus/exporter-toolkit/web"
	"github.com/prometheus/exporter-toolkit/web/kingpinflag"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/metrics"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/web"
)

func registerReplay(app *kingpin.Application) (string, command) {
	cmd := app.Command("replay", "Replay recordings and serve the metrics of their clusters. Times in the metrics come from the recordings.")
	files := cmd.Arg("file", "A recording, or a --data.dir directory. Several recordings are replayed in sequence, each as a separate cluster with its file name in the cluster label.").Required().Strings()
	var pace float64
	addFlag(cmd, "speed", "Replay speed. 1 is the recorded speed, 10 is ten times as fast.", &pace, parseSpeed).Default("1")
	var between period
	between.addFlags(cmd, onlyFromADirectory)
	once := cmd.Flag("once", "Replay without waiting, print the final metrics and exit.").Bool()
	flags := addPipelineFlags(cmd)
	listen := kingpinflag.AddFlags(cmd, localAddress)
	return cmd.FullCommand(), func(p program) error {
		if *once {
			pace = 0
		}
		recordings, err := openRecordings(between, *files...)
		if err != nil {
			return err
		}
		r := newReplay(recordings, pace, *flags, func(x clusterRecording) reporter {
			if x.cluster == "" {
				return logReporter{p.logger}
			}
			return logReporter{p.logger.With(metrics.ClusterLabel, x.cluster)}
		})
		if *once {
			p.log.close() // nothing waits for a replay, so it may wait for the reader of the log
			return r.printFinal(p)
		}
		return r.serve(p, listen, func(net.Addr) {}, func() {
			p.logger.Info("replay complete; serving the final state until interrupted")
		})
	}
}

// openRecordings opens all recordings before any is replayed, so that a mistyped name fails immediately. It reads only
// the given period from a --data.dir directory. If there are several recordings, their names are the names of their
// clusters.
func openRecordings(between period, files ...string) (all []clusterRecording, err error) {
	for _, file := range files {
		found, err := between.open(file)
		if err != nil {
			return nil, err
		}
		if len(files) > 1 {
			// A file name can contain any bytes, but a label value must be valid UTF-8.
			name := phrase.Line(strings.TrimSuffix(strings.TrimSuffix(filepath.Base(file), ".gz"), ".jsonl"))
			switch {
			case name == "":
				return nil, fmt.Errorf("recording %s: the file name without the extension is empty, so there is no value for the label %s", file, metrics.ClusterLabel)
			case slices.ContainsFunc(all, func(x clusterRecording) bool { return x.cluster == name }):
				return nil, fmt.Errorf("two recordings are named %s: both would have the same value of the label cluster", name)
			}
			found.cluster = name
		}
		all = append(all, found)
	}
	return all, nil
}

// replay replays recordings in sequence. Each recording has its own pipeline.
type replay struct {
	recordings []clusterRecording
	clocks     []*recording.Clock
	pipelines  []*pipeline
}

// newReplay returns a replay. It calls `report` once per recording to get a reporter. If `report` is nil, nothing is reported.
func newReplay(recordings []clusterRecording, speed float64, settings settings, report func(clusterRecording) reporter) *replay {
	r := &replay{recordings: recordings}
	for _, opened := range recordings {
		clock := recording.NewClock(speed)
		pipeline := newPipeline(settings, clock.Now, silent)
		if pipeline.name = opened.cluster; report != nil {
			pipeline.reporter = report(opened)
		}
		r.clocks, r.pipelines = append(r.clocks, clock), append(r.pipelines, pipeline)
	}
	return r
}

// play replays all recordings. It replays a damaged recording up to the damage, and continues with the next one.
func (r *replay) play(ctx context.Context) error {
	var failures []error
	for i, opened := range r.recordings {
		err := recording.Play(ctx, opened.events, r.clocks[i], r.pipelines[i].apply)
		if ctx.Err() != nil {
			break
		}
		r.pipelines[i].incidents.RecordingEnds()
		r.pipelines[i].finish()
		failures = append(failures, err)
	}
	return errors.Join(failures...)
}

// replayAtOnce replays a recording, or a period of a directory, without waiting and without reporting anything. The error
// says where a recording is damaged. If the recording cannot be opened, or after an interrupt, the replay is nil.
func replayAtOnce(p program, s settings, between period, file string) (*replay, error) {
	recordings, err := openRecordings(between, file)
	if err != nil {
		return nil, err
	}
	r := newReplay(recordings, 0, s, nil)
	if err = r.playAtOnce(p); p.ctx.Err() != nil {
		return nil, err
	}
	return r, err
}

// playAtOnce replays all recordings without waiting, and reports its progress.
func (r *replay) playAtOnce(p program) error {
	for i := range r.recordings {
		r.recordings[i].events = withProgress(p.logger, r.recordings[i].events)
	}
	err := r.play(p.ctx)
	if p.ctx.Err() != nil {
		return errors.New("interrupted before the recording was read")
	}
	return err
}

// page returns a page with all clusters' metrics.
func (r *replay) page(registry *prometheus.Registry) *metrics.Page {
	page := metrics.NewPage(registry)
	for _, pipeline := range r.pipelines {
		page.Add(pipeline.collector, pipeline.name)
	}
	return page
}

// clusters returns the data of all clusters for the web pages.
func (r *replay) clusters() (all []web.Cluster) {
	for _, pipeline := range r.pipelines {
		all = append(all, pipeline.cluster())
	}
	return all
}

// printFinal replays all recordings and prints the final metrics.
func (r *replay) printFinal(p program) error {
	failure := r.playAtOnce(p)
	scrape, err := r.page(prometheus.NewRegistry()).Scrape()
	if err == nil {
		defer scrape.Done()
		err = scrape.Write(p.out, expfmt.NewFormat(expfmt.TypeTextPlain))
	}
	if err != nil {
		err = fmt.Errorf("print the metrics: %w", err)
	}
	return errors.Join(failure, err)
}

// serve serves the metrics and pages of the recordings, and then replays them: it calls `begins` as soon as the pages are
// served at an address, and `ends` when all recordings are complete. After the replay, it serves the final state until it is
// interrupted. If a recording is damaged, serve logs the error after the replay. It returns this error when it is
// interrupted.
func (r *replay) serve(p program, listen *toolkit.FlagConfig, begins func(net.Addr), ends func()) error {
	if err := checkWeb(listen); err != nil {
		return err
	}
	group, ctx := errgroup.WithContext(p.ctx)
	registry := prometheus.NewRegistry()
	for _, pipeline := range r.pipelines {
		registerProcess(registry, pipeline.name)
		group.Go(func() error {
			pipeline.runTicker(ctx, func(time.Time) {})
			return nil
		})
	}
	var failure error
	replay := func(address net.Addr) {
		begins(address)
		if failure = r.play(ctx); failure != nil {
			p.logger.Error("a recording could not be replayed completely", "err", failure)
		} else if ctx.Err() == nil {
			ends()
		}
	}
	var once sync.Once // one address is sufficient
	group.Go(func() error {
		pages := web.Pages{Metrics: r.page(registry), Clusters: r.clusters(), Unready: r.unready}
		return serve(ctx, p, listen, pages, func(address net.Addr) {
			once.Do(func() {
				group.Go(func() error {
					replay(address)
					return nil
				})
			})
		})
	})
	return errors.Join(group.Wait(), failure)
}

// unready returns the resources that are not listed yet in the first recording. Later recordings do not make the replay
// unready again.
func (r *replay) unready() []watches.Watch {
	if first := r.pipelines[0]; !first.tracker.Synced() {
		return first.unready()
	}
	return nil
}
