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
	cluster := addClusterFlags(cmd)
	file := cmd.Arg("file", "The recording to write; it must not exist. A name that ends in .gz is compressed.").Required().String()
	title := cmd.Flag("title", "One line for the recording's header; not in an anonymised one.").String()
	var duration positiveDuration
	cmd.Flag("duration", "Stop after this time; 0s records until interrupted.").Default("0s").SetValue(named{&duration, "duration"})
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
		ctx, cancel := withOptionalTimeout(p.ctx, time.Duration(duration))
		defer cancel()
		r.fail = cancel
		p.logger.Info("recording", "file", *file)
		group, running := errgroup.WithContext(ctx)
		group.Go(func() error { return watcher.Run(running) })
		group.Go(func() error { return asker{r.tracker, watcher}.run(running) })
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

// recorder writes what six watches deliver side by side, in one order.
type recorder struct {
	mu         sync.Mutex
	writer     *recording.Writer
	anonymiser *recording.Anonymiser
	file       string
	// fold tells when Leases are to be read directly: the answers belong into the recording.
	tracker *track.Tracker
	events  int
	// listed: a first list is complete, so there is something in the recording.
	listed bool
	// fail stops the recording at err: a file that cannot be written is no reason to watch on.
	fail context.CancelFunc
	err  error
}

// finish ends the recording with the moment at which it ended, so that what was
// still going on then has its length. A file with nothing in it would only be in the way.
func (r *recorder) finish(watched error) error {
	r.record(event.Event{Seen: time.Now(), Kind: event.KindCluster, Type: event.Bookmark})
	err := errors.Join(watched, cmp.Or(r.err, r.writer.Close()))
	if r.listed {
		return err
	}
	return errors.Join(cmp.Or(err, errors.New("nothing was recorded: the API server listed nothing")), os.Remove(r.file))
}

func (r *recorder) record(e event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tracker.Apply(e)
	if r.anonymiser != nil {
		e = r.anonymiser.Event(e)
	}
	if err := r.writer.Write(e); err != nil {
		r.err = cmp.Or(r.err, err)
		r.fail()
		return
	}
	r.events++
	r.listed = r.listed || e.Type == event.Synced
}
