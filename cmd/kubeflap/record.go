package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"sync"
	"time"

	"github.com/alecthomas/kingpin/v2"
	"golang.org/x/sync/errgroup"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
	"github.com/kubeflap/kubeflap/exporter/track"
)

func registerRecord(app *kingpin.Application) (string, command) {
	cmd := app.Command("record", "Record the events of a live cluster until interrupted.")
	cluster := addClusterFlags(cmd, watchedNamespace)
	file := cmd.Arg("file", "The file to write, which must not exist yet. If its name ends in .gz, the file is compressed.").Required().String()
	title := cmd.Flag("title", "A description for the recording's header. Anonymised recordings have no description.").String()
	var duration time.Duration
	addFlag(cmd, "duration", "Stop after this time. 0s records until interrupted.", &duration, parseDuration).Default("0s")
	anonymise := cmd.Flag("anonymise", "Replace names, addresses and UIDs with pseudonyms.").Bool()
	return cmd.FullCommand(), func(p program) error {
		r := recorder{file: *file, tracker: track.New(track.Settings{})}
		watcher, err := newWatcher(p.logger, cluster, r.record)
		if err != nil {
			return err
		}
		header := recording.Header{Recorded: time.Now(), Title: *title}
		if *anonymise {
			r.anonymiser = recording.NewAnonymiser()
			header = r.anonymiser.Header(header)
		}
		if r.writer, err = recording.Create(*file, header); err != nil {
			return err
		}
		ctx, cancel := withOptionalTimeout(p.ctx, duration)
		defer cancel()
		r.fail = cancel
		p.logger.Info("recording", "file", *file)
		group, running := errgroup.WithContext(ctx)
		group.Go(func() error { return runWatches(running, watcher, r.tracker) })
		group.Go(func() error { return r.runFlush(running) })
		if err := r.finish(group.Wait()); err != nil {
			return err
		}
		p.logger.Info("recorded", "file", *file, "events", r.events)
		return nil
	}
}

func withOptionalTimeout(ctx context.Context, d time.Duration) (context.Context, context.CancelFunc) {
	if d == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, d)
}

// recorder writes the events of all watches to one file.
type recorder struct {
	mu         sync.Mutex
	writer     *recording.Writer
	anonymiser *recording.Anonymiser
	file       string
	// `tracker` decides when Leases must be read directly, without the watch. The recording includes these Leases.
	tracker *track.Tracker
	events  int
	// `listed` is set after the first complete list. A recording without a complete list is deleted.
	listed bool
	// `fail` stops the watches if the file cannot be written. `err` is the write error.
	fail context.CancelFunc
	err  error
}

// flushEvery is the interval at which events are written to the file. A killed process loses the events since then.
const flushEvery = time.Second

// runFlush regularly flushes the file until ctx is canceled.
func (r *recorder) runFlush(ctx context.Context) error {
	ticker := time.NewTicker(flushEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
			r.mu.Lock()
			r.check(r.writer.Flush())
			r.mu.Unlock()
		}
	}
}

// check stops the watches after a write error.
func (r *recorder) check(err error) {
	if err != nil {
		r.err = cmp.Or(r.err, err)
		r.fail()
	}
}

// finish writes a last event with the current time, so that a replay counts ongoing outages until this time. If the
// recording contains no complete list, finish removes the file.
func (r *recorder) finish(watched error) error {
	r.record(event.Event{Seen: time.Now(), Kind: event.KindCluster, Type: event.Bookmark})
	err := errors.Join(watched, cmp.Or(r.err, r.writer.Close()))
	if r.listed {
		return err
	}
	return errors.Join(cmp.Or(err, errors.New("nothing was recorded: the API server returned no objects")), os.Remove(r.file))
}

func (r *recorder) record(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tracker.Apply(e)
	if r.anonymiser != nil {
		e = r.anonymiser.Event(e)
	}
	err := r.writer.Write(e)
	r.check(err)
	if err == nil {
		r.events++
		r.listed = r.listed || e.Type == event.Synced
	}
}
