package flightrecorder

import (
	"errors"
	"io/fs"
	"os"
	"time"
)

// A recovery counts as successful when settledAfter has passed since its last list. By then, the disk has accepted the
// lists, because files are flushed every second.
const settledAfter = 3 * time.Second

// errRemoved means that the open file was deleted, for example with its directory.
var errRemoved = errors.New("the recordings were removed")

var errInUse = errors.New("another process is recording into")

// recovery is an attempt to record again after a failure. Only a successful attempt is reported. The files of a failed
// attempt are deleted, because they fill the disk and contain no complete lists.
type recovery struct {
	active bool
	// files holds the paths of the files that the attempt created. events is the number of events that the attempt
	// received.
	files  []string
	events uint64
	// last is the time at which the attempt last created a file or had an incomplete list.
	last time.Time
}

func (r *recovery) note(path string) {
	if r.active {
		r.files, r.last = append(r.files, path), time.Now()
	}
}

// confirm ends a successful recovery and reports it.
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
	w.recorder.markRecording()
}

// end ends a session. The parameter failure is the error that ended the session, or nil if the session ended normally.
// end returns this error. If it is nil, end returns the error from closing the last file.
func (w *writer) end(failure error) error {
	if closeErr := w.close(); failure == nil {
		failure = closeErr
	}
	if failure == nil {
		return nil
	}
	if !w.recovery.active {
		w.recorder.countLost(uint64(len(w.lists.buffered)))
		return failure
	}
	w.recorder.countLost(w.recovery.events)
	for _, path := range w.recovery.files {
		if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return errors.Join(failure, err)
		}
	}
	return failure
}

// relist makes the recorder list all resources again, because events in its files were lost.
func (r *Recorder) relist() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.beginGap(r.status.Recording)
}

func removed(path string) bool {
	_, err := os.Stat(path)
	return errors.Is(err, fs.ErrNotExist)
}
