package flightrecorder

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// writer writes the files of one session. It must be used by one goroutine only.
type writer struct {
	of *Recorder
	// open is the current file. It is nil before the file's first event.
	open   *recording.Writer
	begins time.Time
	role   role
	// next is the role of the next file. base is the start of the generation, and size the total size of its closed
	// files.
	next role
	base time.Time
	size int64
	// lists tracks the resources that are being listed after a gap.
	lists lists
	found chan listPart
	// background counts the goroutines that list resources or write a state. stating is set while a state is being
	// written.
	background sync.WaitGroup
	stating    atomic.Bool
	recovery   recovery
	// anonymiser is nil if the recordings have the real names.
	anonymiser *recording.Anonymiser
}

// newWriter deletes unfinished files from the directory. The first file will begin with the watches' lists. The directory
// must be locked.
func newWriter(r *Recorder) (*writer, error) {
	unfinished, err := filepath.Glob(filepath.Join(r.settings.Dir, "*"+temporary))
	if err != nil {
		return nil, fmt.Errorf("read the recordings directory: %w", err)
	}
	for _, path := range unfinished {
		if err := os.Remove(path); err != nil {
			return nil, fmt.Errorf("delete an unfinished recording: %w", err)
		}
	}
	w := &writer{of: r, next: roleStart, found: make(chan listPart)}
	failure := r.Status().Err
	w.recovery.active = failure != nil && !errors.Is(failure, errInUse)
	if r.settings.Anonymise {
		key, err := r.key()
		if err != nil {
			return nil, err
		}
		w.anonymiser = recording.NewKeyedAnonymiser(key)
	}
	return w, w.prune()
}

// write writes an event, or keeps it until the list of its resource is complete.
func (w *writer) write(ev event.Event) error {
	if w.recovery.active {
		w.recovery.events++
	}
	if held, err := w.lists.hold(ev); held || err != nil {
		return err
	}
	return w.add(ev)
}

// add writes an event, and creates a file if none is open.
func (w *writer) add(ev event.Event) error {
	if w.open == nil {
		if err := w.create(ev.Seen); err != nil {
			return err
		}
	}
	if w.anonymiser != nil {
		ev = w.anonymiser.Event(ev)
	}
	return w.open.Write(ev)
}

// flush writes the events of the current file to the disk.
func (w *writer) flush() error {
	if w.open == nil {
		return nil
	}
	return w.open.Flush()
}

// create creates the next file. seen is the time of its first event.
func (w *writer) create(seen time.Time) error {
	begins := seen.Truncate(time.Microsecond)
	if !begins.After(w.begins) {
		begins = w.begins.Add(time.Microsecond) // the clock was set back
	}
	path := pathOf(w.of.settings.Dir, begins, w.next)
	open, err := recording.CreateDense(path, w.header(begins))
	if err != nil {
		return err
	}
	w.recovery.note(path)
	w.open, w.begins, w.role = open, begins, w.next
	if w.next == roleStart {
		w.base, w.size = begins, 0
	}
	w.next = roleNext
	if !w.recovery.active && !w.of.Status().Recording {
		w.of.works()
	}
	return nil
}

// header returns the header of a file that begins at a time.
func (w *writer) header(begins time.Time) recording.Header {
	header := recording.Header{Recorded: begins}
	if w.anonymiser != nil {
		header = w.anonymiser.Header(header)
	}
	return header
}

// close closes the current file.
func (w *writer) close() error {
	if w.open == nil {
		return nil
	}
	err := w.open.Close()
	if err != nil && !w.recovery.active {
		w.of.lose(uint64(w.open.Pending()))
	}
	w.size += w.open.Size()
	w.open = nil
	return err
}

// upkeep starts a new file if the current one is too large or too old, starts a generation if it is due, and deletes
// the oldest ones.
func (w *writer) upkeep(now time.Time) error {
	settings := w.of.settings
	switch {
	case w.open == nil:
		return nil
	case removed(pathOf(settings.Dir, w.begins, w.role)):
		return errRemoved
	case w.open.Size() < settings.Size/fileShare && now.Sub(w.begins) < fileAge:
		return w.prune()
	}
	before := w.begins
	if err := errors.Join(w.close(), w.create(max64(now, before))); err != nil {
		return err
	}
	if !w.stating.Load() && (w.size >= settings.Size/generationShare || now.Sub(w.base) >= generationAge) {
		w.state(w.begins)
	}
	return w.prune()
}

func max64(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// state writes a state file in the background. at is the start of the current file.
func (w *writer) state(at time.Time) {
	w.base, w.size = at, 0
	w.stating.Store(true)
	w.background.Go(func() {
		defer w.stating.Store(false)
		if err := writeState(w.of.settings.Dir, at, w.header(at)); err != nil {
			w.of.log.Warn("cannot start a new set of recordings, continuing with the last one", "err", err)
		}
	})
}

// writeState computes the state at a time from the earlier files, and writes it to a state file.
func writeState(dir string, at time.Time, header recording.Header) error {
	state, err := stateBefore(dir, at)
	if err != nil {
		return err
	}
	path := pathOf(dir, at, roleState)
	out, err := recording.CreateDense(path+temporary, header)
	if err != nil {
		return err
	}
	for ev, readErr := range state {
		if err = readErr; err == nil {
			err = out.Write(ev)
		}
		if err != nil {
			break
		}
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(path+temporary))
	}
	if err := os.Rename(path+temporary, path); err != nil {
		return fmt.Errorf("complete a recording: %w", err)
	}
	return nil
}

// stateBefore returns the state at a time, from the files that begin earlier.
func stateBefore(dir string, at time.Time) (events, error) {
	all, err := filesOf(dir)
	if err != nil {
		return nil, err
	}
	before := all[:0]
	for _, f := range all {
		if f.begins.Before(at) {
			before = append(before, f)
		}
	}
	return stateAt(eventsOf(before[baseBefore(before, at):]), at)
}

// prune deletes old generations and measures the size of the directory.
func (w *writer) prune() error {
	all, err := filesOf(w.of.settings.Dir)
	if err != nil {
		return err
	}
	all, err = prune(all, w.of.settings.Size, time.Now().Add(-w.of.settings.Age))
	w.of.measured(all)
	return err
}
