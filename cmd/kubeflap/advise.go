package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/url"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/printable"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// adviceGiven is the exit status if there is something to change.
const adviceGiven exitStatus = 3

// adviser is the flags of advise.
type adviser struct {
	cluster           clusterFlags
	recording, output string
	duration          positiveDuration
	remote            remote
	tracker           *trackerFlags
}

func registerAdvise(app *kingpin.Application) (string, command) {
	a := &adviser{}
	cmd := app.Command("advise", "Say what to change in a cluster, and why. It reads a live cluster, or with --recording or --url what was seen of one. "+
		"The exit status is 0 if there is nothing to advise, 3 if there is, 1 after an error, 2 for a wrong command line.")
	a.cluster = addClusterFlags(cmd)
	cmd.Flag("for", "How long to observe a live cluster before answering: several heartbeats, which are 10s apart. An interrupt ends it early.").
		Default("2m").SetValue(&a.duration)
	cmd.Flag("recording", "Read this recording instead of a live cluster.").StringVar(&a.recording)
	cmd.Flag("url", "Read the metrics of a running kubeflap, such as http://host:9969, instead of a live cluster.").StringVar(&a.remote.url)
	cmd.Flag("url.config", "File with the TLS and authentication settings for --url, in Prometheus' format: "+
		"https://prometheus.io/docs/prometheus/latest/configuration/configuration/#http_config").StringVar(&a.remote.config)
	cmd.Flag("url.cluster", "The cluster to advise on, if the kubeflap at --url has several.").StringVar(&a.remote.cluster)
	cmd.Flag("output", "The form of the answer.").Default("text").EnumVar(&a.output, "text", "json")
	a.tracker = addTrackerFlags(cmd)
	cmd.Validate(func(*kingpin.CmdClause) error { return a.validate() })
	return cmd.FullCommand(), a.advise
}

// trackerDefaults are the flags of the tracker when none is given.
func trackerDefaults() trackerFlags {
	return trackerFlags{settings: track.Settings{BounceWindow: 2 * time.Minute}, source: sourceAuto}
}

// validate finds flags that contradict each other, and settings that the source would not use.
func (a *adviser) validate() error {
	switch {
	case a.recording != "" && a.remote.url != "":
		return errors.New("--recording and --url: advise reads one of them")
	case *a.cluster.kubeconfig+*a.cluster.namespace != "" && a.recording+a.remote.url != "":
		return errors.New("--kubeconfig and --namespace are for a live cluster: not with --recording or --url")
	case a.remote.url == "" && a.remote.config+a.remote.cluster != "":
		return errors.New("--url.config and --url.cluster are for --url, which is missing")
	case a.duration == 0:
		return errors.New("--for=0s: nothing can be observed in no time")
	case a.remote.url != "" && *a.tracker != trackerDefaults():
		return errors.New("--node-monitor-grace-period, --bounce-window and --endpoints.source are settings of the kubeflap at --url: give them there")
	}
	if parsed, err := url.Parse(a.remote.url); a.remote.url != "" && (err != nil || parsed.Host == "") {
		return fmt.Errorf("--url: %q is no URL such as http://host:9969", a.remote.url)
	}
	return nil
}

func (a *adviser) advise(p program) error {
	families, from, err := a.read(p)
	if err != nil {
		return err
	}
	makePrintable(families)
	cluster, err := advice.FromMetrics(families, a.remote.cluster)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	report := advice.Of(cluster)
	if err := writeReport(p.out, report, a.output); err != nil {
		return err
	}
	if report.Advice {
		return adviceGiven
	}
	return nil
}

// makePrintable escapes what names of a recording or of another server hold that a terminal would obey.
func makePrintable(families []*dto.MetricFamily) {
	for _, family := range families {
		for _, series := range family.GetMetric() {
			for _, label := range series.GetLabel() {
				if text := printable.Line(label.GetValue()); text != label.GetValue() {
					label.Value = &text
				}
			}
		}
	}
}

// read reads the source, and says what it is called.
func (a *adviser) read(p program) (families []*dto.MetricFamily, from string, err error) {
	switch {
	case a.remote.url != "":
		families, err = a.remote.read(p.ctx)
		return families, "the kubeflap at --url", err
	case a.recording != "":
		families, err = readRecording(p.ctx, a.recording, a.tracker.parsed())
		return families, a.recording, err
	}
	families, err = a.observe(p)
	return families, "the cluster", err
}

// readRecording gives the metrics as they are at a recording's end.
func readRecording(ctx context.Context, file string, settingsOfTracker track.Settings) ([]*dto.MetricFamily, error) {
	recordings, err := openRecordings([]string{file})
	if err != nil {
		return nil, err
	}
	r := newReplay(recordings, 0, settings{tracker: settingsOfTracker, incidents: 1}, deaf)
	if err := r.play(ctx); err != nil {
		return nil, err
	}
	return gather(r.pipelines[0])
}

// observe watches a live cluster and gives the metrics after a while.
func (a *adviser) observe(p program) ([]*dto.MetricFamily, error) {
	h := newPipeline(settings{tracker: a.tracker.parsed(), incidents: 1}, time.Now, deaf(""))
	watcher, err := newWatcher(p.logger, a.cluster, h.apply)
	if err != nil {
		return nil, err
	}
	ctx, stop := context.WithCancel(p.ctx)
	failed := make(chan error, 1)
	group, running := errgroup.WithContext(ctx)
	group.Go(func() error { return watcher.Run(running) })
	group.Go(func() error { return asker{h.tracker, watcher}.run(running) })
	go func() {
		defer stop()
		failed <- group.Wait()
	}()
	if err := waitForSync(ctx, h.tracker, time.Duration(a.duration)); err == nil {
		p.logger.Info("observing", "for", time.Duration(a.duration))
		wait(ctx, time.Duration(a.duration))
	}
	families, err := gather(h)
	stop()
	if failure := <-failed; failure != nil {
		return nil, failure
	}
	if !h.tracker.Synced() {
		return nil, fmt.Errorf("the cluster could not be read within --for=%s", time.Duration(a.duration))
	}
	return families, err
}

// waitForSync waits until the cluster was read; an error if it was not in time.
func waitForSync(ctx context.Context, tracker *track.Tracker, limit time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for !tracker.Synced() {
		wait(ctx, 100*time.Millisecond)
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the cluster: %w", ctx.Err())
		}
	}
	return nil
}

func wait(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// gather gives the metrics that advice is read from.
func gather(p *pipeline) ([]*dto.MetricFamily, error) {
	registry := prometheus.NewRegistry()
	registry.MustRegister(p.collector.Only(advice.Metrics()))
	families, err := registry.Gather()
	if err != nil {
		return nil, fmt.Errorf("gather the metrics: %w", err)
	}
	return families, nil
}

func writeReport(out io.Writer, report advice.Report, form string) error {
	if form == "text" {
		advice.WriteText(out, report)
		return nil
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(report); err != nil {
		return fmt.Errorf("print the advice: %w", err)
	}
	return nil
}
