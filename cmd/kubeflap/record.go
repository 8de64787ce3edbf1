package main

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/alecthomas/kingpin/v2"

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
		pipeline := newPipeline(defaultSettings(), time.Now, newSilentReporter(""))
		watcher, err := newWatcher(p.logger, cluster, pipeline.apply)
		if err != nil {
			return err
		}
		header := recording.Header{Recorded: time.Now(), Title: *title}
		r := recorder{file: *file}
		if *anonymise {
			r.anonymiser = recording.NewAnonymiser()
			header = r.anonymiser.Header(header)
		}
		if r.writer, err = recording.Create(*file, header); err != nil {
			return err
		}
		ctx, cancel := context.WithCancel(p.ctx)
		defer cancel()
		r.fail, pipeline.record = cancel, r.record
		p.logger.Info("recording", "file", *file)
		if err := r.finish(pipeline.follow(ctx, watcher)); err != nil {
			return err
		}
		p.logger.Info("recorded", "file", *file, "events", r.events)
		return nil
	}
}

// recorder writes the events of all watches to one file.
type recorder struct {
	writer     *recording.Writer
	anonymiser *recording.Anonymiser
	file       string
	events     int
	// `flushed` is the time of the last flush.
	flushed time.Time
	// `listed` is set after the first complete list. A recording without a complete list is deleted.
	listed bool
	// `fail` stops the watches if the file cannot be written. `err` is the write error.
	fail context.CancelFunc
	err  error
}

// flushEvery is the interval at which events are written to the file. A killed process loses the events since then.
const flushEvery = time.Second

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

// record writes an event. Only one goroutine may call it.
func (r *recorder) record(e event.Event) {
	if r.anonymiser != nil {
		e = r.anonymiser.Event(e)
	}
	err := r.writer.Write(e)
	if err == nil && e.Seen.Sub(r.flushed) >= flushEvery {
		r.flushed = e.Seen
		err = r.writer.Flush()
	}
	if err != nil {
		r.err = cmp.Or(r.err, err)
		r.fail()
		return
	}
	r.events++
	r.listed = r.listed || e.Type == event.Synced
}
