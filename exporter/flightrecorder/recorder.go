// Package flightrecorder continuously records events in a directory, so that past incidents can be replayed. The size
// and the age of the recordings are limited.
//
// The files use the recording format. A replay can only start with a base. A base is a file that begins with lists of
// all resources, or a file that contains the state of all objects. Every few hours, the recorder computes this state
// from its own files. A generation consists of a base and the files up to the next base. The recorder deletes the
// oldest generations.
package flightrecorder

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/gofrs/flock"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// queueSize is the maximum number of events that wait for the disk. When the queue is full, new events are lost and
	// counted.
	queueSize = 16384
	// writeEvery is the interval at which queued events are written to the disk. A killed process loses the events
	// since the last write. Writing each event separately would take twice the CPU time. A queue with more than
	// writeAbove events is written immediately.
	writeEvery = time.Second
	writeAbove = queueSize / 16
	// retryAfter is the delay before the first retry after a failure. Each failed retry doubles the delay, up to
	// retryAtMost, because each retry lists all resources.
	retryAfter  = 10 * time.Second
	retryAtMost = 5 * time.Minute
	// upkeepEvery is the interval at which the recorder checks whether a new file or generation is due.
	upkeepEvery = 10 * time.Second
	// fileAge and fileShare are the maximum age and size of a file. generationAge and generationShare are the maximum
	// age and size of a generation. A share of n means 1/n of the directory's size limit. Generations are short,
	// because a replay must read a generation from its start. Reading two hours of heartbeats of 1,000 nodes takes a
	// second.
	fileAge         = time.Hour
	fileShare       = 64
	generationAge   = 2 * time.Hour
	generationShare = 8
)

// Settings configure a Recorder.
type Settings struct {
	// Dir is the directory for the recordings. It is created if it does not exist.
	Dir string
	// Size is the maximum size of the directory in bytes. Age is the retention time of events.
	Size int64
	Age  time.Duration
	// Anonymise replaces names, addresses and UIDs with pseudonyms. The key of the pseudonyms is stored in a file in
	// the directory.
	Anonymise bool
	// List lists the objects of a resource and returns the list's resourceVersion. The recorder calls it after events
	// were lost.
	List func(ctx context.Context, kind event.Kind, each func(event.Object)) (version string, err error)
}

// Recorder records events. Disk failures do not affect its callers.
type Recorder struct {
	settings       Settings
	log            *slog.Logger
	queue          chan event.Event
	flushRequested chan struct{} // flushRequested receives a value when the queue exceeds writeAbove
	pace           pace
	began          time.Time
	// clock tells whether the current time is reliable enough to delete recordings by age. Only the goroutine that
	// writes events uses it.
	clock clockMonitor

	mu     sync.Mutex
	status Status
	// gap is set if the resources must be listed again, because events were lost.
	gap     bool
	watches watches
}

// Status describes the state of a Recorder.
type Status struct {
	// Recording is set while events are being written. Since is the time at which Recording last changed. Err is the
	// reason why nothing is recorded.
	Recording bool
	Since     time.Time
	Err       error
	// Bytes is the size of the directory. Oldest is the time of the oldest event in it.
	Bytes  int64
	Oldest time.Time
	// Lost is the number of events that could not be written. Gaps is the number of periods in which events were lost.
	Lost uint64
	Gaps uint64
}

// New checks the settings and returns a Recorder. Nothing is written until Run is called.
func New(s Settings, logger *slog.Logger) (*Recorder, error) {
	if info, err := os.Stat(s.Dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--data.dir=%s is not a directory", s.Dir)
	}
	return &Recorder{settings: s, log: logger, queue: make(chan event.Event, queueSize), flushRequested: make(chan struct{}, 1), began: time.Now()}, nil
}

// Record queues an event. It never blocks. If the queue is full, the event is lost and counted.
func (r *Recorder) Record(ev event.Event) {
	if !ev.Type.HasObject() || ev.Kind == event.KindCluster {
		r.mu.Lock()
		r.gap = r.watches.note(ev) || r.gap
		r.mu.Unlock()
	}
	select {
	case r.queue <- ev:
	default:
		r.countLost(1)
	}
	if len(r.queue) > writeAbove {
		select {
		case r.flushRequested <- struct{}{}:
		default:
		}
	}
}

func (r *Recorder) countLost(n uint64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Lost += n
	if n > 0 {
		r.beginGap(r.status.Recording)
	}
}

// beginGap makes the recorder list all resources again, because events may have been lost. It does not count a gap if
// nothing was recorded before.
func (r *Recorder) beginGap(recorded bool) {
	if recorded && !r.gap {
		r.status.Gaps++
	}
	r.gap = true
	r.watches.markTorn()
}

// Status returns the state of the recorder.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// Run records until the context is canceled. After a disk failure, or if another process uses the directory, it tries
// again. It never returns an error, because kubeflap must run even if it cannot record.
func (r *Recorder) Run(ctx context.Context) error {
	defer r.pace.off.Store(true)
	wait := retryAfter
	for {
		began := time.Now()
		if err := r.session(ctx); err != nil {
			r.failed(err)
		}
		if time.Since(began) > retryAtMost {
			wait = retryAfter
		}
		r.discard(ctx, wait)
		if ctx.Err() != nil {
			return nil
		}
		wait = min(2*wait, retryAtMost)
	}
}

// failed is called after a failure. It updates the status, and logs the failure unless the previous attempt failed for
// the same reason.
func (r *Recorder) failed(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.Recording || r.status.Err == nil || !sameCause(r.status.Err, err) {
		r.log.Error("recording failed, retrying", "err", err)
	}
	r.beginGap(r.status.Recording || r.status.Err == nil)
	if r.status.Recording || r.status.Since.IsZero() {
		r.status.Since = time.Now()
	}
	r.status.Recording, r.status.Err = false, err
}

// sameCause reports whether two errors have the same cause. It ignores file names, because they differ with each
// attempt.
func sameCause(a, b error) bool {
	var x, y syscall.Errno
	if errors.As(a, &x) && errors.As(b, &y) {
		return x == y
	}
	return a.Error() == b.Error()
}

func (r *Recorder) markRecording() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.status.Err != nil {
		r.log.Info("resumed recording", "after", time.Since(r.status.Since).Round(time.Second), "events lost", r.status.Lost)
	}
	r.status.Recording, r.status.Since, r.status.Err = true, time.Now(), nil
}

// discard drops the events that arrive during the wait, and counts them as lost.
func (r *Recorder) discard(ctx context.Context, wait time.Duration) {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-timer.C:
			return
		case <-r.queue:
			r.countLost(1)
		}
	}
}

// session records until the context is canceled or a failure occurs.
func (r *Recorder) session(ctx context.Context) error {
	if err := os.MkdirAll(r.settings.Dir, 0o700); err != nil {
		return fmt.Errorf("create the recordings directory: %w", err)
	}
	lock := flock.New(filepath.Join(r.settings.Dir, lockName), flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return fmt.Errorf("lock the recordings directory: %w", err)
	case !locked:
		return fmt.Errorf("%w %s", errInUse, r.settings.Dir)
	}
	w, err := newWriter(r)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	err = r.write(ctx, w)
	cancel()
	w.background.Wait()
	return w.end(err)
}

// write writes events until the context is canceled or a failure occurs.
func (r *Recorder) write(ctx context.Context, w *writer) error {
	due, upkeep := time.NewTicker(writeEvery), time.NewTicker(upkeepEvery)
	defer due.Stop()
	defer upkeep.Stop()
	for {
		if watches, gap := r.takeGap(); gap {
			if err := w.restart(ctx, watches); err != nil {
				return err
			}
		}
		var err error
		select {
		case <-ctx.Done():
			return r.writeQueued(w)
		case <-due.C:
			err = r.writeQueued(w)
		case <-r.flushRequested:
			err = r.writeQueued(w)
		case found := <-w.listParts:
			err = w.list(found)
		case <-upkeep.C:
			err = w.upkeep()
		}
		if err != nil {
			return err
		}
		w.confirm()
	}
}

// takeGap reports whether events were lost since the last call, and returns the current state of the watches.
func (r *Recorder) takeGap() (watches, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	gap := r.gap
	r.gap = false
	return r.watches, gap
}

func (r *Recorder) writeQueued(w *writer) error {
	for range len(r.queue) {
		if err := w.write(<-r.queue); err != nil {
			r.countLost(1)
			return err
		}
	}
	return w.flush()
}

func (r *Recorder) measured(all []file) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Bytes = 0
	for _, f := range all {
		r.status.Bytes += f.size
	}
	r.status.Oldest = oldest(all)
}
