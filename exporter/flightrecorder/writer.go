package flightrecorder

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

const (
	// SegmentAge and segmentShare are the maximum age and size of a segment. A share of n means 1/n of the directory's
	// size limit. A reader must read a segment from its beginning, so segments are short. Reading two hours of
	// heartbeats of 1,000 nodes takes a second.
	SegmentAge   = 2 * time.Hour
	segmentShare = 4
	// clockSlack is the largest backward step of the clock that is ignored. After such a step, events are only slightly
	// out of order.
	clockSlack = 10 * time.Second
)

// errRemoved means that the open file was deleted, for example with its directory.
var errRemoved = errors.New("the recordings were removed")

// writer writes segments. Only one goroutine may use it.
type writer struct {
	recorder *Recorder
	// unwritten is the number of events that were taken from the queue and may not be on the disk yet.
	unwritten int
	// open is the current segment, and state is the state at its end. Both are nil before the first event.
	open   *recording.Writer
	state  *state
	number int
	// newest is the time of the newest event. seen is the time of the last event, with the monotonic reading.
	newest, seen time.Time
	// size is the size of the segment, lists is its size after the lists at its beginning, and others is the size of the other
	// segments.
	size, lists, others int64
	// versions holds the resourceVersions of the lists that the recorder made after a gap.
	versions [event.NumKinds]uint64
}

// run writes events until the context is canceled or a failure occurs. The directory must be locked.
func (w *writer) run(ctx context.Context) error {
	due := time.NewTicker(writeEvery)
	defer due.Stop()
	err := w.prune()
	for err == nil {
		ended := ctx.Err() != nil
		if err = w.writeQueue(ctx); err != nil || ended {
			return err
		}
		select {
		case <-ctx.Done():
		case <-due.C:
		case <-w.recorder.wake:
		}
	}
	return err
}

// writeQueue writes the events in the queue. If events were lost after them, it begins a new segment.
func (w *writer) writeQueue(ctx context.Context) error {
	events, lost := w.recorder.take()
	w.unwritten += len(events)
	for _, ev := range events {
		if err := w.write(ctx, ev); err != nil {
			return err
		}
	}
	if w.unwritten > 0 {
		if err := w.open.Flush(); err != nil {
			return err //nolint:wrapcheck // the error contains the path
		}
		if err := w.measure(); err != nil {
			return err
		}
	}
	w.unwritten = 0
	if lost != nil && ctx.Err() == nil {
		return w.resume(ctx, *lost)
	}
	return nil
}

// write writes an event. It begins a new segment if the current one is too old or too large, or if the clock was set
// back: readers find a segment by its beginning. It also does so if the clock was set forward, so that readers report the
// watches as down in between. Otherwise, all nodes would seem to have been silent.
func (w *writer) write(ctx context.Context, ev event.Event) error {
	passed, before := ev.Seen.Sub(w.seen), w.seen.Round(0)
	w.seen = ev.Seen
	ev.Seen = ev.Seen.Round(0) // a monotonic reading would hide that the clock was set
	leapt := w.open != nil && ev.Seen.Sub(before)-passed > clockSlack
	if w.open == nil || leapt || w.isDue(ev.Seen) {
		if err := w.next(ev.Seen, !leapt); err != nil {
			return err
		}
	}
	switch version := &w.versions[ev.Kind]; {
	case ev.Type == event.Listing: // the watch itself lists the resource
		*version = 0
	case *version == unlisted && (ev.Type == event.Up || ev.Type == event.Synced):
		return w.list(ctx, ev.Kind, ev.Seen)
	case isOutdated(ev, *version):
		return nil
	}
	return w.add(ev)
}

func (w *writer) isDue(seen time.Time) bool {
	return seen.Before(w.newest.Add(-clockSlack)) || seen.Sub(w.state.segment.Begins) >= SegmentAge ||
		w.size >= w.recorder.settings.Size/segmentShare && w.size >= 2*w.lists
}

func (w *writer) add(ev event.Event) error {
	if ev.Seen.After(w.newest) {
		w.newest = ev.Seen
	}
	w.state.note(ev)
	return w.open.Write(ev) //nolint:wrapcheck // the error contains the path
}

func (w *writer) close() error {
	if w.open == nil {
		return nil
	}
	err := w.open.Close()
	w.open = nil
	return err //nolint:wrapcheck // the error contains the path
}

// next begins the next segment. It computes the lists at its beginning from the previous segment. Without a previous
// segment, the watches are about to list their resources. If the segment continues the previous one, readers skip the lists.
func (w *writer) next(seen time.Time, continues bool) error {
	if w.open == nil {
		return w.begin(seen, 0, func() error { return nil })
	}
	if err := w.close(); err != nil {
		return err
	}
	r, err := recording.Open(w.state.segment.path)
	if err != nil {
		return err //nolint:wrapcheck // the error contains the path
	}
	defer r.Close()
	lists, repeated := w.state.events(r, seen), 0
	if continues {
		repeated = w.state.size()
	}
	return w.begin(seen, repeated, func() error {
		for ev, err := range lists {
			if err == nil {
				err = w.add(ev)
			}
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// begin begins a segment, and calls a function that adds the lists at its beginning. If they repeat the state at the end
// of the previous segment, repeated is the number of their events.
func (w *writer) begin(seen time.Time, repeated int, addLists func() error) (err error) {
	settings := w.recorder.settings
	begins := seen.Truncate(time.Microsecond)
	header := recording.Header{Recorded: begins, State: repeated}
	if settings.Head != nil {
		header.Head = settings.Head(begins)
	}
	w.number++
	path := filepath.Join(settings.Dir, nameOf(begins, w.number))
	if w.open, err = recording.Create(path, header); err != nil {
		return err //nolint:wrapcheck // the error contains the path
	}
	w.state, w.newest = newState(Segment{Begins: begins, path: path}), begins
	if err = cmp.Or(addLists(), w.open.Flush()); err != nil {
		_, _ = w.close(), os.Remove(path)
		return fmt.Errorf("begin a segment: %w", err)
	}
	err = w.prune()
	w.lists = w.size
	return err
}

// measure measures the current segment. It prunes the directory if that has become too large, or if the segment is gone.
func (w *writer) measure() error {
	info, err := os.Stat(w.state.segment.path)
	if err == nil {
		w.size = info.Size()
	}
	if err != nil || w.size+w.others > w.recorder.settings.Size {
		return w.prune()
	}
	return nil
}

// prune deletes old segments and measures the size of the directory. It fails if the current segment was deleted.
func (w *writer) prune() error {
	settings := w.recorder.settings
	all, err := Segments(settings.Dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	newest := Segment{}
	if len(all) > 0 {
		newest = all[len(all)-1]
	}
	if w.open != nil && newest.number != w.number {
		return errRemoved
	}
	w.number, w.size = newest.number, newest.Size
	all, err = prune(all, settings.Size, settings.Age)
	w.others = sizeOf(all) - w.size
	w.recorder.measured(all, w.open != nil)
	return err
}
