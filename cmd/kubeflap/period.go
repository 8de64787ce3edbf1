package main

import (
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web"
	"github.com/kubeflap/kubeflap/exporter/web/api"
)

// period is the time range to replay from a --data.dir directory. A zero time means no limit.
type period struct{ from, to time.Time }

func (p *period) addFlags(cmd *kingpin.CmdClause, note string) {
	addFlag(cmd, "from", "Start of the period, such as 2026-03-01T12:00:00Z or 1772366400. "+note, &p.from, api.ParseTime).PlaceHolder("TIME")
	addFlag(cmd, "to", "End of the period, in the same format as --from.", &p.to, api.ParseTime).PlaceHolder("TIME")
}

// onlyFromADirectory is a note on the flags of a period.
const onlyFromADirectory = "Only for a --data.dir directory. By default, all events are read."

// clusterRecording is a recording, or a directory of recordings.
type clusterRecording struct {
	header recording.Header
	events iter.Seq2[event.Event, error]
	// `cluster` is the value of the label "cluster" for its metrics. It is empty if no other recording is replayed.
	cluster string
}

// opened returns the recording of a reader. The file is closed after the last event.
func opened(r *recording.Reader, cluster string) clusterRecording {
	return clusterRecording{r.Header(), func(yield func(event.Event, error) bool) {
		defer r.Close()
		r.Events()(yield)
	}, cluster}
}

// progressEvery is the interval at which long reads report their progress.
const progressEvery = 2 * time.Second

// withProgress returns the same events. While they are read, it logs every two seconds how far they are.
func withProgress(logger *slog.Logger, events iter.Seq2[event.Event, error]) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		n, next := 0, time.Now().Add(progressEvery)
		for ev, err := range events {
			if n++; time.Now().After(next) {
				next = next.Add(progressEvery)
				logger.Info("reading the recording", "events", n, "until", stamp(ev.Seen))
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// open opens a recording, or the period of a directory of recordings.
func (p period) open(path string) (found clusterRecording, err error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if !p.from.IsZero() || !p.to.IsZero() {
			return found, fmt.Errorf("--from and --to need a --data.dir directory, and %s is not a directory", path)
		}
		reader, err := recording.Open(path)
		if err != nil {
			return found, err //nolint:wrapcheck // the error contains the path
		}
		return opened(reader, ""), nil
	}
	until := p.to
	switch {
	case until.IsZero():
		until = time.Now()
	case until.Before(p.from):
		return found, errors.New("--to is before --from")
	}
	events, err := flightrecorder.Read(path, p.from, until)
	if err != nil {
		return found, fmt.Errorf("directory %s: %w", path, err)
	}
	return clusterRecording{header: web.CompleteHeader(recording.Header{Recorded: p.from}, events), events: events}, nil
}
