package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice/report"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/postmortem"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track/grace"
	"github.com/kubeflap/kubeflap/exporter/whatif"
	"github.com/kubeflap/kubeflap/exporter/whatif/background"
)

// furtherBack contains margins before the period that are longer than background.Margin. readDirectory tries the next
// margin if a Service or node was unready from the start of the previous margin to the start of the period. It gives up
// after the longest margin, because a fault can last for days.
var furtherBack = []time.Duration{time.Hour, 6 * time.Hour}

// readDirectory replays a period of a --data.dir directory, with a margin before and after the period.
func (r *reportWriter) readDirectory(p program, in *postmortem.Input) (damage, err error) {
	begin, end, err := flightrecorder.Span(r.recording)
	if err != nil {
		return nil, fmt.Errorf("--recording: directory %s: %w", r.recording, err)
	}
	from, to, err := r.period(begin, end)
	if err != nil {
		return nil, err
	}
	if err := checkOverlap(from, to, begin, end); err != nil {
		return nil, err
	}
	first, last := from.Add(-background.Margin), to.Add(background.Margin)
	if !r.from.given() {
		first = begin
	}
	open := func() (*recording.Reader, error) { return openAround(p.ctx, r.recording, from, to, first, last) }
	played, err := r.play(p.ctx, open)
	if err != nil {
		return nil, err
	}
	for _, back := range furtherBack {
		if !first.After(begin) || !played.seen.Start().Lasts(from) {
			break
		}
		study := played.study // the predictions must not include the longer margin
		first = from.Add(-back)
		if played, err = r.play(p.ctx, open); err != nil {
			return nil, err
		}
		played.study = study
	}
	in.Source.Recording = &postmortem.Recording{File: filepath.Base(r.recording), Directory: true, Anonymised: played.header.Anonymised}
	in.From, in.To = from, to
	return played.damage, r.fillReport(played, in)
}

// openAround opens the recordings in a directory. It includes a margin before and after the period. If object names
// change in a margin (flightrecorder.RenamedError), openAround shortens this margin.
func openAround(ctx context.Context, dir string, from, to, first, last time.Time) (*recording.Reader, error) {
	const margins = 2
	for range margins {
		reader, err := openDirectory(ctx, dir, first, last)
		var renamed *flightrecorder.RenamedError
		switch {
		case !errors.As(err, &renamed):
			return reader, err
		case !renamed.At.After(from):
			first = renamed.At
		case renamed.At.After(to):
			last = renamed.At.Add(-1)
		default:
			return nil, err
		}
	}
	return openDirectory(ctx, dir, first, last)
}

// checkOverlap returns an error if a period and a recording do not overlap.
func checkOverlap(from, to, begin, end time.Time) error {
	switch {
	case from.After(end):
		return fmt.Errorf("--from: %s is after the end of the recording, %s", inUTC(from), inUTC(end))
	case to.Before(begin):
		return fmt.Errorf("--to: %s is before the beginning of the recording, %s", inUTC(to), inUTC(begin))
	}
	return nil
}

// predictRemote adds predictions from the recordings of the kubeflap instance at --url. If there are no predictions, it
// adds the reason. It reads the period with a margin before and after. Without --from, the period begins with the
// oldest incident.
func (r *reportWriter) predictRemote(p program, in *postmortem.Input) {
	if r.remote.url == "" {
		in.NoWhatIf = "predictions require a recording. Use --recording, or --url with an instance that has --web.enable-recordings"
		return
	}
	from := in.From
	for i := range in.Answer.Incidents {
		if start := in.Answer.Incidents[i].Start; from.IsZero() || !r.from.given() && start.Before(from) {
			from = start
		}
	}
	if from.IsZero() {
		in.NoWhatIf = "there is no incident; set --from to choose the recordings to read"
		return
	}
	at := func(t time.Time) timeOrAgo { return timeOrAgo{text: inUTC(t), time: t} }
	recordings := source{remote: r.remote, from: at(from.Add(-background.Margin)), to: at(in.To.Add(background.Margin))}
	reader, stop, err := recordings.open(p.ctx)
	if err != nil {
		in.NoWhatIf = "the recordings could not be read: " + err.Error()
		return
	}
	defer stop()
	study := whatif.NewUsual(configuredGracePeriod(in.Advice))
	for ev, err := range reader.Events() {
		if err != nil {
			in.NoWhatIf = "the recordings could not be read: " + err.Error()
			return
		}
		study.Apply(ev)
	}
	predictIn(in, study)
}

// configuredGracePeriod returns the value of --node-monitor-grace-period of the running kubeflap, or 0 if it is not
// set.
func configuredGracePeriod(of *report.Report) time.Duration {
	if of == nil || of.Heartbeats.GraceSource != string(grace.SourceFlag) {
		return 0
	}
	return time.Duration(of.Heartbeats.Grace * float64(time.Second))
}
