package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
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

func (p *period) addFlags(cmd *kingpin.CmdClause, fromHelp, toHelp string) {
	addFlag(cmd, "from", fromHelp, &p.from, api.ParseTime).PlaceHolder("TIME")
	addFlag(cmd, "to", toHelp, &p.to, api.ParseTime).PlaceHolder("TIME")
}

// opened is a recording, or a directory of recordings.
type opened struct {
	header recording.Header
	events iter.Seq2[event.Event, error]
}

// openedReader returns the recording of a reader. The file is closed after the last event.
func openedReader(r *recording.Reader) opened {
	return opened{r.Header(), func(yield func(event.Event, error) bool) {
		defer r.Close()
		r.Events()(yield)
	}}
}

// open opens a recording, or the period of a directory of recordings.
func (p period) open(path string) (opened, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if !p.from.IsZero() || !p.to.IsZero() {
			return opened{}, fmt.Errorf("--from and --to need a --data.dir directory, and %s is not a directory", path)
		}
		reader, err := recording.Open(path)
		if err != nil {
			return opened{}, err //nolint:wrapcheck // the error contains the path
		}
		return openedReader(reader), nil
	}
	until := p.to
	if until.IsZero() {
		if until = time.Now(); p.from.After(until) {
			return opened{}, fmt.Errorf("--from: %s is in the future: it is now %s", inUTC(p.from), inUTC(until))
		}
	}
	if until.Before(p.from) {
		return opened{}, errors.New("--to is before --from")
	}
	events, err := flightrecorder.Read(context.Background(), path, p.from, until)
	if err != nil {
		return opened{}, fmt.Errorf("directory %s: %w", path, err)
	}
	return opened{web.CompleteHeader(recording.Header{Recorded: p.from}, events), events}, nil
}

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }
