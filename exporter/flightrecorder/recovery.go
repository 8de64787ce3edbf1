package flightrecorder

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// settledAfter is the time without a failure after which an attempt counts as successful. It starts after the attempt's
// lists. When it ends, the disk has accepted the lists, because files are flushed every second.
const settledAfter = 3 * time.Second

// errRemoved means that the open file was deleted, for example with its directory.
var errRemoved = errors.New("the recordings were removed")

// errInUse means that another process is recording into the directory.
var errInUse = errors.New("another process is recording into")

// recovery is an attempt to record again after a failure. The attempt is only reported after it has succeeded. If it
// fails, its files are deleted, because they fill the disk and contain no complete lists.
type recovery struct {
	active bool
	// files are the paths of the files of the attempt. events is the number of events that the attempt accepted.
	files  []string
	events uint64
	// last is the latest time at which a file was created, or at which a list was incomplete.
	last time.Time
}

func (r *recovery) note(path string) {
	if r.active {
		r.files, r.last = append(r.files, path), time.Now()
	}
}

// confirm reports a successful recovery.
func (w *writer) confirm() {
	if !w.recovery.active || w.open == nil {
		return
	}
	now := time.Now()
	if w.lists.pending() {
		w.recovery.last = now
	}
	if now.Sub(w.recovery.last) < settledAfter {
		return
	}
	w.recovery = recovery{}
	w.of.works()
}

// end ends a session. failure is the reason for the end, or nil. end returns failure or, if failure is nil, the error
// from closing the last file.
func (w *writer) end(failure error) error {
	if closeErr := w.close(); failure == nil {
		failure = closeErr
	}
	if failure == nil {
		return nil
	}
	if !w.recovery.active {
		w.of.lose(uint64(len(w.lists.held)))
		return failure
	}
	w.of.lose(w.recovery.events)
	for _, path := range w.recovery.files {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(failure, err)
		}
	}
	return failure
}

// relist makes the recorder list all resources again, because recorded events were lost.
func (r *Recorder) relist() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.interrupt(r.status.Recording)
}

// removed reports whether a file is gone.
func removed(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
