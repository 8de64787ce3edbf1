package flightrecorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/recording"
)

// writer writes the files of one session. Only one goroutine may use it.
type writer struct {
	recorder *Recorder
	// open is the current file. It is nil if the next event will create a file. path and number then belong to the
	// previous file.
	open   *recording.Writer
	path   string
	number int
	begins time.Time
	// newest is the time of the newest event.
	newest time.Time
	// next is the role of the next file. generationStart is the start of the current generation. generationSize is the
	// total size of the generation's closed files.
	next            role
	generationStart time.Time
	generationSize  int64
	// stateDue is set if a new generation with a state file is due.
	stateDue bool
	// The field lists tracks the resources that are being listed after a gap.
	lists     lists
	listParts chan listPart
	// background waits for the goroutines that list resources or write a state. writingState is set while a state is
	// being written.
	background   sync.WaitGroup
	writingState atomic.Bool
	recovery     recovery
	// anonymiser is nil if the recordings contain real names.
	anonymiser *recording.Anonymiser
}

// newWriter returns a writer whose first file begins with lists. It deletes unfinished files from the directory, which
// must be locked.
func newWriter(r *Recorder) (*writer, error) {
	if err := deleteUnfinished(r.settings.Dir); err != nil {
		return nil, err
	}
	all, err := filesOf(r.settings.Dir)
	if err != nil {
		return nil, err
	}
	w := &writer{recorder: r, next: roleStart, listParts: make(chan listPart)}
	if len(all) > 0 {
		w.number = all[len(all)-1].number
	}
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
	if held, err := w.lists.bufferEvent(ev); held || err != nil {
		return err
	}
	return w.add(ev)
}

// add writes an event. It creates a file if none is open. If the time of the event is more than clockSlack before the
// newest event or more than fileAge after it, add first begins a new generation. The clock may have been set, and
// readers find a generation by its start time.
func (w *writer) add(ev event.Event) error {
	step := ev.Seen.Sub(w.newest)
	if w.next == roleNext && (step < -clockSlack || step > fileAge) {
		if err := w.close(); err != nil {
			return err
		}
		w.stateDue, w.newest = true, ev.Seen
	}
	if w.open == nil {
		if err := w.create(ev.Seen); err != nil {
			return err
		}
	}
	if ev.Seen.After(w.newest) {
		w.newest = ev.Seen
	}
	if w.anonymiser != nil {
		ev = w.anonymiser.Event(ev)
	}
	return w.open.Write(ev)
}

func (w *writer) flush() error {
	if w.open == nil {
		return nil
	}
	return w.open.Flush()
}

// create creates the next file. The parameter seen is the time of the first event in this file.
func (w *writer) create(seen time.Time) error {
	begins := seen.Truncate(time.Microsecond)
	path := pathOf(w.recorder.settings.Dir, begins, w.number+1, w.next)
	open, err := recording.CreateDense(path, w.header(begins))
	if err != nil {
		return err
	}
	w.recovery.note(path)
	w.number++
	w.open, w.path, w.begins, w.newest = open, path, begins, begins
	switch {
	case w.next == roleStart:
		w.generationStart, w.generationSize, w.stateDue = begins, 0, false
	case w.stateDue && !w.writingState.Load():
		w.startWritingState()
	}
	w.next = roleNext
	if !w.recovery.active && !w.recorder.Status().Recording {
		w.recorder.markRecording()
	}
	return nil
}

// header returns the header of a file that begins at the given time.
func (w *writer) header(begins time.Time) recording.Header {
	header := recording.Header{Recorded: begins}
	if w.anonymiser != nil {
		header = w.anonymiser.Header(header)
	}
	return header
}

func (w *writer) close() error {
	if w.open == nil {
		return nil
	}
	err := w.open.Close()
	if err != nil && !w.recovery.active {
		w.recorder.countLost(uint64(w.open.Pending()))
	}
	w.generationSize += w.open.Size()
	w.open = nil
	return err
}

// upkeep closes the current file if it is too large or too old. It then decides whether a new generation is due. It
// also deletes old generations. It does not create the next file, because a file is named after the time of its first
// event.
func (w *writer) upkeep() error {
	settings := w.recorder.settings
	switch {
	case w.open == nil:
		return nil
	case removed(w.path):
		return errRemoved
	case w.stateDue && !w.writingState.Load(), w.open.Size() >= settings.Size/fileShare, w.newest.Sub(w.begins) >= fileAge:
		if err := w.close(); err != nil {
			return err
		}
		w.stateDue = w.stateDue || w.generationSize >= settings.Size/generationShare || w.newest.Sub(w.generationStart) >= generationAge
	}
	return w.prune()
}

// startWritingState writes a state file in the background. The file contains the state at the start of the current
// file.
func (w *writer) startWritingState() {
	w.generationStart, w.generationSize, w.stateDue = w.begins, 0, false
	w.writingState.Store(true)
	dir, at, number, header := w.recorder.settings.Dir, w.begins, w.number, w.header(w.begins)
	w.background.Go(func() {
		defer w.writingState.Store(false)
		if err := writeState(dir, at, number, header); err != nil {
			// New lists begin a new generation. The current generation may be damaged, and cannot be deleted before it
			// ends.
			w.recorder.log.Warn("cannot compute the state for a new set of recordings, listing all resources again", "err", err)
			w.recorder.relist()
		}
	})
}

// errIncomplete means that the state is unknown, because a file of the generation is damaged or was deleted.
var errIncomplete = errors.New("the current set of recordings is incomplete")

// writeState computes the state at the start of a file from the earlier files, and writes it to a state file.
func writeState(dir string, at time.Time, number int, header recording.Header) error {
	r, err := readingBefore(dir, number)
	if err != nil {
		return err
	}
	state, err := stateAt(r, at)
	if err != nil {
		return err
	}
	path := pathOf(dir, at, number, roleState)
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
	if failure := r.failure(); failure != nil {
		err = errors.Join(err, fmt.Errorf("%w: %w", errIncomplete, failure))
	}
	if err = errors.Join(err, out.Close()); err != nil {
		return errors.Join(err, os.Remove(path+temporary))
	}
	if err := os.Rename(path+temporary, path); err != nil {
		return fmt.Errorf("complete a recording: %w", err)
	}
	return nil
}

// readingBefore returns a reading of the generation that ends before the file with this number. All files of this
// generation are closed.
func readingBefore(dir string, number int) (*reading, error) {
	all, err := filesOf(dir)
	if err != nil {
		return nil, err
	}
	before := generationsOf(slices.DeleteFunc(all, func(f file) bool { return f.number >= number }))
	if len(before) == 0 || !before[len(before)-1][0].isBase() {
		return nil, fmt.Errorf("%w: its lists are missing", errIncomplete)
	}
	var parts []part
	for _, f := range before[len(before)-1] {
		parts = append(parts, part{file: f})
	}
	return newReading(context.Background(), parts), nil
}

// prune deletes old generations and measures the size of the directory.
func (w *writer) prune() error {
	all, err := filesOf(w.recorder.settings.Dir)
	if err != nil {
		return err
	}
	all, err = prune(all, w.recorder.settings.Size, w.recorder.retentionCutoff())
	w.recorder.measured(all)
	return err
}
