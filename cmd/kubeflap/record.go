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
)

func registerRecord(app *kingpin.Application) (string, command) {
	cmd := app.Command("record", "Record the events of a live cluster until interrupted.")
	cluster := addClusterFlags(cmd, watchedNamespace)
	file := cmd.Arg("file", "The file to write, which must not exist yet. If its name ends in .gz, the file is compressed.").Required().String()
	title := cmd.Flag("title", "A description for the recording's header. Anonymised recordings have no description.").String()
	anonymise := cmd.Flag("anonymise", "Replace names, addresses and UIDs with pseudonyms.").Bool()
	return cmd.FullCommand(), func(p program) error {
		// The pipeline decides when Leases must be read directly, without the watch. The recording includes these Leases.
		pipeline := newPipeline(defaultSettings(), time.Now, silent)
		watcher, err := newWatcher(p.logger, cluster, pipeline.apply)
		if err != nil {
			return err
		}
		r := recorder{file: *file}
		if r.writer, err = recording.Create(*file, recording.Header{Recorded: time.Now(), Title: *title, Anonymised: *anonymise}); err != nil {
			return err
		}
		pipeline.record = r.record
		p.logger.Info("recording", "file", *file)
		group, ctx := errgroup.WithContext(p.ctx)
		group.Go(func() error { return pipeline.follow(ctx, watcher) })
		group.Go(func() error { return r.run(ctx) })
		if err := r.finish(group.Wait()); err != nil {
			return err
		}
		p.logger.Info("recorded", "file", *file, "events", r.events)
		return nil
	}
}

// recorder writes the events of all watches to one file.
type recorder struct {
	writer *recording.Writer
	file   string
	events int
	// `listed` is set after the first complete list. A recording without a complete list is deleted.
	listed bool

	mu sync.Mutex
	// `queue` holds the events that are not yet written, so that the watches never wait for the disk.
	queue []event.Event
}

// writeEvery is the interval at which events are written to the file. A killed process loses the events since then.
const writeEvery = time.Second

// record queues an event.
func (r *recorder) record(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.queue = append(r.queue, e)
}

// run writes the queue at a short interval until ctx is canceled.
func (r *recorder) run(ctx context.Context) error {
	for ctx.Err() == nil {
		wait(ctx, writeEvery)
		if err := r.write(); err != nil {
			return err
		}
	}
	return nil
}

// write writes the queue to the file.
func (r *recorder) write() error {
	r.mu.Lock()
	events := r.queue
	r.queue = nil
	r.mu.Unlock()
	if len(events) == 0 {
		return nil
	}
	for _, e := range events {
		if err := r.writer.Write(e); err != nil {
			return err
		}
		r.events++
		r.listed = r.listed || e.Type == event.Synced
	}
	return r.writer.Flush()
}

// finish writes a last event with the current time, so that a replay counts ongoing outages until this time. If the
// recording contains no complete list, finish removes the file.
func (r *recorder) finish(watched error) error {
	r.record(event.Event{Seen: time.Now(), Kind: event.KindCluster, Type: event.Bookmark})
	err := cmp.Or(watched, r.write(), r.writer.Close())
	if r.listed {
		return err
	}
	return errors.Join(cmp.Or(err, errors.New("nothing was recorded: the API server returned no objects")), os.Remove(r.file))
}
