package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/kubeflap/kubeflap/exporter/advice/observed"
	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/postmortem"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
	"github.com/kubeflap/kubeflap/exporter/web/query"
	"github.com/kubeflap/kubeflap/exporter/whatif"
)

// reportedIncidents is the maximum number of incidents that a report keeps from a recording.
const reportedIncidents = 10_000

// readRecording replays the recording. The result `damage` is the error that ended the replay early, or nil.
func (r *reportWriter) readRecording(p program, in *postmortem.Input) (damage, err error) {
	if info, err := os.Stat(r.recording); err == nil && info.IsDir() {
		return r.readDirectory(p, in)
	}
	file, err := os.Open(r.recording)
	if err != nil {
		return nil, fmt.Errorf("--recording: %w", err)
	}
	defer file.Close()
	sum := sha256.New()
	var size countingWriter
	bytes := io.TeeReader(file, io.MultiWriter(sum, &size))
	played, err := r.play(p.ctx, func() (*recording.Reader, error) { return recording.NewReader(bytes, r.recording) })
	if err != nil {
		return nil, err
	}
	// The reader stops at damage and at the end of the compressed data, but the checksum must cover the whole file.
	if _, err := io.Copy(io.Discard, bytes); err != nil {
		return nil, fmt.Errorf("--recording: read %s: %w", r.recording, err)
	}
	header := played.header
	in.Source.Recording = &postmortem.Recording{
		File: filepath.Base(r.recording), SHA256: hex.EncodeToString(sum.Sum(nil)), Size: int64(size), Title: header.Title, Anonymised: header.Anonymised,
	}
	if err := r.setPeriod(played.seen, in); err != nil {
		return nil, err
	}
	return played.damage, r.fillReport(played, in)
}

// replayResult is the state at the end of a recording.
type replayResult struct {
	header   recording.Header
	pipeline *pipeline
	seen     *postmortem.Observer
	study    *whatif.Study
	// `damage` is the error that ended the replay early, or nil.
	damage error
}

// play opens a recording and replays it without waiting. It returns no error for a damaged recording, but stores the
// damage in the result.
func (r *reportWriter) play(ctx context.Context, open func() (*recording.Reader, error)) (*replayResult, error) {
	reader, err := open()
	if err != nil {
		return nil, fmt.Errorf("--recording: %w", err)
	}
	x := &replayResult{header: reader.Header(), seen: postmortem.NewObserver(), study: whatif.NewUsual(time.Duration(r.tracker.gracePeriod))}
	x.pipeline, x.damage = replayInto(ctx, reader, settings{r.tracker.settings(), reportedIncidents}, x.seen, x.study)
	if ctx.Err() != nil {
		return nil, errors.New("interrupted before the recording was read")
	}
	return x, nil
}

// fillReport adds the incidents, the advice and the predictions from a recording to a report. Call it after the
// recording and the period of the report are set.
func (r *reportWriter) fillReport(x *replayResult, in *postmortem.Input) error {
	in.Source.Kubernetes = x.seen.Kubernetes()
	in.Start = x.seen.Start()
	if x.damage != nil {
		in.Source.Recording.Damage = x.damage.Error()
	}
	if err := r.readPipeline(x.pipeline, x.seen, in); err != nil {
		return err
	}
	predictIn(in, x.study)
	return nil
}

// countingWriter counts the bytes written to it.
type countingWriter int64

// Write implements io.Writer.
func (n *countingWriter) Write(p []byte) (int, error) {
	*n += countingWriter(len(p))
	return len(p), nil
}

// replayInto replays a recording without waiting and returns the final state, even if the recording is damaged.
func replayInto(ctx context.Context, reader *recording.Reader, settings settings, seen *postmortem.Observer, study *whatif.Study) (*pipeline, error) {
	clock := recording.NewClock(0)
	pipeline := newPipeline(settings, clock.Now, newSilentReporter(""))
	err := recording.Play(ctx, reader.Events(), clock, func(e event.Event) {
		seen.Event(e)
		study.Apply(e)
		pipeline.apply(e)
	})
	pipeline.finish()
	return pipeline, err
}

// predictIn adds the predictions for other settings to a report.
func predictIn(in *postmortem.Input, study *whatif.Study) {
	study.Finish()
	given := study.PredictUsual()
	in.WhatIf = &given
}

// setPeriod sets the report's period for a recording in a single file.
func (r *reportWriter) setPeriod(seen *postmortem.Observer, in *postmortem.Input) (err error) {
	begin, end := seen.Span()
	if begin.IsZero() {
		return fmt.Errorf("--recording: %s has no events", r.recording)
	}
	if in.From, in.To, err = r.period(begin, end); err != nil {
		return err
	}
	return checkOverlap(in.From, in.To, begin, end)
}

// readPipeline adds the incidents and the advice to a report, as of the end of the recording.
func (r *reportWriter) readPipeline(pipeline *pipeline, seen *postmortem.Observer, in *postmortem.Input) error {
	switch f := in.Filter; {
	case f.Service != "" && !seen.HasService(f.Namespace, f.Service):
		return fmt.Errorf("--service: the recording has no Service %s", r.affected)
	case f.Node != "" && !seen.HasNode(f.Node):
		return fmt.Errorf("--node: the recording has no node %s", f.Node)
	case f.Service == "" && f.Namespace != "" && !seen.HasNamespace(f.Namespace):
		return fmt.Errorf("--namespace: the recording has no Service in the namespace %s", f.Namespace)
	}
	selected, err := query.Parse(selection(in.Filter, in.From, in.To).Encode())
	if err != nil {
		return fmt.Errorf("select the incidents: %w", err)
	}
	in.Answer = web.Answer([]web.Cluster{pipeline.cluster("")}, &selected)
	families, err := gather(pipeline)
	if err != nil {
		return err
	}
	adviseIn(in, families, "")
	return nil
}

// adviseIn adds the advice to a report, or the reason why there is none.
func adviseIn(in *postmortem.Input, families []*dto.MetricFamily, cluster string) {
	makePrintable(families)
	c, err := observed.Cluster(families, cluster)
	if err != nil {
		in.NoAdvice = err.Error()
		return
	}
	given := report.Of(c)
	in.Advice = &given
}

// readRunning reads from a running kubeflap. The result `damage` is always nil.
func (r *reportWriter) readRunning(p program, in *postmortem.Input) (damage, err error) {
	if in.From, in.To, err = r.period(time.Time{}, time.Now()); err != nil {
		return nil, err
	}
	to := in.To
	if !r.to.given() {
		// Set no end, because the clock of the running kubeflap may be ahead, or show the time of a replay.
		to = time.Time{}
	}
	_, answer, err := r.readIncidents(p, selection(in.Filter, in.From, to))
	if err != nil {
		return nil, err
	}
	if !r.to.given() {
		in.To = answer.AsOf
	}
	if in.From.After(answer.AsOf) {
		return nil, fmt.Errorf("--from: %s is after the current time of the kubeflap instance, %s", inUTC(in.From), inUTC(answer.AsOf))
	}
	if names := clustersOf(answer); len(names) > 1 {
		return nil, fmt.Errorf("--url.cluster: the kubeflap instance serves several clusters: choose one of %s", strings.Join(names, ", "))
	}
	in.Answer, in.Source.URL = *answer, r.sourceDescription()
	if err := r.readMetrics(p, in); err != nil {
		return nil, err
	}
	r.predictRemote(p, in)
	return nil, nil
}

func clustersOf(answer *api.Answer) []string {
	names := map[string]bool{}
	for i := range answer.Incidents {
		names[answer.Incidents[i].Cluster] = true
	}
	return slices.Sorted(maps.Keys(names))
}

// readMetrics adds the information that only the metrics contain. Without metrics, the report states what is missing.
func (r *reportWriter) readMetrics(p program, in *postmortem.Input) error {
	text, err := r.read(p, "/metrics", string(expfmt.NewFormat(expfmt.TypeTextPlain)), nil)
	if err != nil {
		in.NoAdvice = "the metrics could not be read: " + err.Error()
		return nil
	}
	families, err := parseMetrics(bytes.NewReader(text))
	if err != nil {
		in.NoAdvice = "its response at /metrics does not contain metrics: " + err.Error()
		return nil
	}
	var found bool
	in.Source.Server, found = postmortem.VersionFromMetrics(families, in.Filter)
	switch f := in.Filter; {
	case len(in.Answer.Incidents) > 0 || found:
	case f.Service != "":
		return fmt.Errorf("--service: the kubeflap instance knows neither a Service %s nor an incident that affected it", r.affected)
	case f.Node != "":
		return fmt.Errorf("--node: the kubeflap instance knows neither a node %s nor an incident that affected it", f.Node)
	case f.Namespace != "":
		return fmt.Errorf("--namespace: the kubeflap instance knows neither a Service in the namespace %s nor an incident that affected one", f.Namespace)
	}
	adviseIn(in, families, r.remote.cluster)
	return nil
}
