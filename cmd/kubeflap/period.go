package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/kubeflap/kubeflap/exporter/flightrecorder"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/web/query"
	"github.com/kubeflap/kubeflap/exporter/web/recordings"
)

// period is the time range to replay from a --data.dir directory. A zero time means no limit.
type period struct{ from, to time.Time }

func (p *period) addFlags(cmd *kingpin.CmdClause, fromHelp, toHelp string) {
	addFlag(cmd, "from", fromHelp, &p.from, query.ParseTime).PlaceHolder("TIME")
	addFlag(cmd, "to", toHelp, &p.to, query.ParseTime).PlaceHolder("TIME")
}

// open opens a recording, or a directory of recordings.
func (p period) open(path string) (*recording.Reader, error) {
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		if !p.from.IsZero() || !p.to.IsZero() {
			return nil, fmt.Errorf("--from and --to need a --data.dir directory, and %s is not a directory", path)
		}
		return recording.Open(path) //nolint:wrapcheck // the error contains the path
	}
	until := p.to
	if until.IsZero() {
		if until = time.Now(); p.from.After(until) {
			return nil, inFuture(p.from, until)
		}
	}
	if until.Before(p.from) {
		return nil, errors.New("--to is before --from")
	}
	return openDirectory(context.Background(), path, p.from, until)
}

// openDirectory opens a --data.dir directory as a single recording. The recording contains the events between `from`
// and `to`.
func openDirectory(ctx context.Context, dir string, from, to time.Time) (*recording.Reader, error) {
	events, err := flightrecorder.Read(ctx, dir, from, to)
	if err != nil {
		return nil, fmt.Errorf("directory %s: %w", dir, err)
	}
	out, in := io.Pipe()
	go func() {
		// The pipe passes an error of recordings.Write to the reader.
		_ = in.CloseWithError(recordings.Write(in, events, recording.Header{Recorded: from}))
	}()
	return recording.NewReader(out, dir) //nolint:wrapcheck // the error contains the path
}

// inFuture returns the error for a period that has not begun.
func inFuture(from, now time.Time) error {
	return fmt.Errorf("--from: %s is in the future: it is now %s", inUTC(from), inUTC(now))
}

func inUTC(t time.Time) string { return t.UTC().Format(time.RFC3339) }
