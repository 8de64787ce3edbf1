package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"time"

	"github.com/alecthomas/kingpin/v2"
	dto "github.com/prometheus/client_model/go"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/phrase"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// adviceGiven is the exit status if there is any advice.
const adviceGiven exitStatus = 3

// adviser holds the flags of the advise command.
type adviser struct {
	cluster           clusterFlags
	recording, output string
	duration          time.Duration
	remote            remote
	settings          *settings
}

func registerAdvise(app *kingpin.Application) (string, command) {
	a := &adviser{}
	cmd := app.Command("advise", "Recommend what to change in a cluster, and why. Reads a live cluster, a recording (--recording) or a running kubeflap instance (--url). "+
		"Exit status: 0 without advice, 3 with advice, 1 after an error, 2 for an invalid command line.")
	a.cluster = addClusterFlags(cmd, watchedNamespace)
	addFlag(cmd, "for", "How long to observe a live cluster. Allow for several heartbeats, which are 10s apart. If you interrupt the command, the advice is based on the observations until then.",
		&a.duration, parseDuration).Default("2m")
	cmd.Flag("recording", "Read this recording instead of a live cluster.").StringVar(&a.recording)
	a.remote.addFlags(cmd, "Read the metrics of a running kubeflap instance, such as http://host:9969, instead of a live cluster.",
		"The cluster to advise on, if the kubeflap instance at --url serves several clusters.")
	addFlag(cmd, "output", "Output format: text or json.", &a.output, oneOf("text", "json")).Default("text")
	a.settings = addTrackerFlags(cmd)
	cmd.Validate(func(*kingpin.CmdClause) error { return a.validate() })
	return cmd.FullCommand(), a.advise
}

// validate rejects flags that cannot be combined.
func (a *adviser) validate() error {
	switch {
	case a.recording != "" && a.remote.url != "":
		return errors.New("--recording and --url are mutually exclusive")
	case (a.cluster.given() || *a.cluster.namespace != "") && a.recording+a.remote.url != "":
		return errors.New("--kubeconfig, --context, --cluster, --user and --namespace need a live cluster: remove --recording or --url")
	case a.remote.url == "" && a.remote.config+a.remote.cluster != "":
		return errors.New("--url.config and --url.cluster need --url")
	case a.duration == 0:
		return errors.New("--for=0s: must be more than 0s")
	case a.remote.url != "" && !reflect.DeepEqual(*a.settings, defaultSettings()):
		return errors.New("--node-monitor-grace-period, --bounce-window, --endpoints.source and --endpoints.known-manager do not apply to --url: set them on the kubeflap instance at that URL")
	}
	return a.remote.validate()
}

func (a *adviser) advise(p program) error {
	families, table, from, err := a.read(p)
	if err != nil {
		return err
	}
	cluster, err := report.Read(families, a.remote.cluster)
	if err != nil {
		return fmt.Errorf("%s: %w", from, err)
	}
	given := report.Of(cluster, table)
	if err := writeReport(p.out, given, a.output); err != nil {
		return err
	}
	if given.Advice {
		return adviceGiven
	}
	return nil
}

// read returns the metrics and the comparison of grace periods. It also returns a description of their source for error
// messages.
func (a *adviser) read(p program) (families []*dto.MetricFamily, table controlplane.Table, from string, err error) {
	switch {
	case a.remote.url != "":
		if families, err = a.remote.readMetrics(p.ctx); err == nil {
			table = a.readGracePeriods(p)
		}
		return families, table, "the kubeflap instance at --url", err
	case a.recording != "":
		families, table, err = readRecording(p.ctx, a.recording, *a.settings)
		return families, table, a.recording, err
	}
	families, table, err = a.observe(p)
	return families, table, "the cluster", err
}

// readGracePeriods reads the comparison of grace periods from the API at --url. If it fails, a note contains the reason.
func (a *adviser) readGracePeriods(p program) (table controlplane.Table) {
	text, err := (&instance{cluster: a.cluster, remote: a.remote}).read(p)
	answer := &api.Answer{}
	if err == nil {
		answer, err = decodeAnswer(text)
	}
	if err != nil || len(answer.GracePeriods) != 1 {
		failure := cmp.Or(err, errors.New("the API does not contain it"))
		return controlplane.Table{Rows: []controlplane.Row{}, Notes: []string{fmt.Sprintf("The comparison of grace periods could not be read: %v.", failure)}}
	}
	table = answer.GracePeriods[0]
	for i, note := range table.Notes {
		table.Notes[i] = phrase.Line(note)
	}
	return table
}

// readRecording returns the metrics and the comparison of grace periods at the end of a recording.
func readRecording(ctx context.Context, file string, settings settings) (families []*dto.MetricFamily, table controlplane.Table, err error) {
	recordings, err := openRecordings(period{}, file)
	if err != nil {
		return nil, table, err
	}
	r := newReplay(recordings, 0, settings, newSilentReporter)
	if err := r.play(ctx); err != nil {
		return nil, table, err
	}
	return gather(r.pipelines[0])
}

// observe watches a live cluster for the duration of --for. It returns the same as readRecording.
func (a *adviser) observe(p program) (families []*dto.MetricFamily, table controlplane.Table, err error) {
	pipeline := newPipeline(*a.settings, time.Now, newSilentReporter(""))
	watcher, err := newWatcher(p.logger, a.cluster, pipeline.apply)
	if err != nil {
		return nil, table, err
	}
	ctx, stop := context.WithCancel(p.ctx)
	failed := make(chan error, 1)
	go func() {
		defer stop()
		failed <- runWatches(ctx, watcher, pipeline.tracker)
	}()
	limit := a.duration
	if err := waitForSync(ctx, pipeline.tracker, limit); err == nil {
		p.logger.Info("observing", "for", limit)
		begin := time.Now()
		wait(ctx, limit)
		if p.ctx.Err() != nil {
			p.logger.Warn("interrupted: the advice is based on less time than --for", "observed", time.Since(begin).Round(time.Second), "for", limit)
		}
	}
	families, table, err = gather(pipeline)
	stop()
	if failure := <-failed; failure != nil {
		return nil, table, failure
	}
	switch {
	case pipeline.tracker.Synced():
		return families, table, err
	case p.ctx.Err() != nil:
		return nil, table, errors.New("interrupted before the cluster was listed")
	}
	return nil, table, fmt.Errorf("could not list all resources within --for=%s", limit)
}

// waitForSync waits until all resources are listed. It returns an error if this takes longer than `limit`.
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

// gather returns the metrics and the comparison of grace periods.
func gather(p *pipeline) ([]*dto.MetricFamily, controlplane.Table, error) {
	families, err := p.collector.Gather()
	if err != nil {
		return nil, controlplane.Table{}, fmt.Errorf("gather the metrics: %w", err)
	}
	return families, p.gracePeriods(""), nil
}

func writeReport(out io.Writer, given report.Report, format string) error {
	if format == "text" {
		report.WriteText(out, given)
		return nil
	}
	encoder := json.NewEncoder(out)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(given); err != nil {
		return fmt.Errorf("print the advice: %w", err)
	}
	return nil
}
