package flightrecorder

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// ErrNothing is returned if a directory contains no events of the period.
var ErrNothing = errors.New("nothing was recorded in this period")

// Read returns the recorded events between two times: first the state of all objects at from, as lists, then the events
// until to. If the recording begins later, Read begins with the oldest list. Read reports the watches as down while no
// recorder was running. anonymised reports whether all names are pseudonyms. If the names change in between, Read returns
// a RenamedError. It is safe to call Read while a Recorder writes into the directory.
func Read(ctx context.Context, dir string, from, to time.Time) (recorded events, anonymised bool, err error) {
	all, err := filesOf(dir)
	if err != nil {
		return nil, false, err
	}
	if len(all) == 0 {
		return nil, false, fmt.Errorf("%w: the directory has no recordings", ErrNothing)
	}
	base := baseBefore(all, from)
	all = slices.DeleteFunc(all[base:], func(f file) bool { return f.begins.After(to) })
	named, err := namesIn(all)
	if err != nil {
		return nil, false, err
	}
	recorded = whileWanted(ctx, eventsOf(all))
	before, err := summarise(recorded, from)
	if err != nil {
		return nil, false, err
	}
	if before.next.IsZero() || before.next.After(to) {
		return nil, false, fmt.Errorf("%w: from %s to %s", ErrNothing, from.UTC().Format(time.RFC3339), to.UTC().Format(time.RFC3339))
	}
	return before.replay(recorded, from, to), named.anonymised, nil
}

// whileWanted stops events with an error when a context ends.
func whileWanted(ctx context.Context, all events) events {
	return func(yield func(event.Event, error) bool) {
		for ev, err := range all {
			if ctx.Err() != nil {
				yield(event.Event{}, context.Cause(ctx))
				return
			}
			if !yield(ev, err) {
				return
			}
		}
	}
}

// baseBefore returns the index of the last base that begins before a time, or else the index of the first base. It
// returns the number of files if there is no base.
func baseBefore(all []file, at time.Time) int {
	base := len(all)
	for i, f := range all {
		if f.isBase() && (base == len(all) || !f.begins.After(at)) {
			base = i
		}
	}
	return base
}

// eventsOf returns the events of several files. The first file must be a base. Later state files are skipped, because
// they repeat known objects.
func eventsOf(all []file) events {
	return func(yield func(event.Event, error) bool) {
		var seen time.Time
		var working [event.NumKinds]bool
		for i, f := range all {
			if i > 0 && f.role == roleState {
				continue
			}
			if i > 0 && f.role == roleStart && !yieldDown(seen, working, yield) {
				return
			}
			for ev, err := range eventsIn(f.path) {
				if !yield(ev, err) || err != nil {
					return
				}
				seen = ev.Seen
				switch ev.Type {
				case event.Synced, event.Up:
					working[ev.Kind] = true
				case event.Down, event.Unavailable:
					working[ev.Kind] = false
				}
			}
		}
	}
}

// yieldDown yields a Down event for each watch that was working when the recorder stopped.
func yieldDown(seen time.Time, working [event.NumKinds]bool, yield func(event.Event, error) bool) bool {
	for kind, works := range working {
		if works && !yield(event.Event{Seen: seen, Kind: event.Kind(kind), Type: event.Down, Reason: event.ReasonNotRecorded}, nil) {
			return false
		}
	}
	return true
}

// eventsIn returns the events of a file. A file that ends in mid-line was being written when its process was killed, or
// is being written now; it is read up to that line. A file that was deleted in the meantime because of its age has no
// events.
func eventsIn(path string) events {
	return func(yield func(event.Event, error) bool) {
		r, err := recording.Open(path)
		if hasNoEvents(err) {
			return
		}
		if err != nil {
			yield(event.Event{}, err)
			return
		}
		defer func() { _ = r.Close() }() // the file was only read
		for ev, err := range r.Events() {
			if errors.Is(err, recording.ErrCutShort) || !yield(ev, err) {
				return
			}
		}
	}
}

// hasNoEvents reports whether the error from opening a file means that it is being created, or was deleted.
func hasNoEvents(err error) bool {
	return errors.Is(err, recording.ErrCutShort) || errors.Is(err, recording.ErrEmpty) || errors.Is(err, fs.ErrNotExist)
}
