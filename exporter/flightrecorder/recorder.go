// Package flightrecorder owns the directory of --data.dir. It continuously records events in it, so that past incidents
// can be replayed, and keeps the resolved incidents in a file (Journal). The size and the age of the recordings are limited.
//
// The directory contains segments. Each segment is a recording that begins with lists of all objects, so a reader can
// begin with any of them. The recorder computes these lists from the previous segment. After a start, they are the lists
// of the watches. After events were lost, the recorder lists all resources itself.
package flightrecorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// queueLimit is the maximum load of the queue: the number of its events, plus one for every four addresses in them.
	// It has room for the first lists of 1,000 nodes and 30,000 pods, which arrive faster than they can be written. When
	// the queue is full, new events are lost and counted.
	queueLimit = 1 << 16
	// writeEvery is the interval at which queued events are written to the disk. A killed process loses the events
	// since the last write. A queue whose load exceeds writeAbove is written immediately.
	writeEvery = time.Second
	writeAbove = 1024
	// retryAfter is the delay before the recorder tries again after a failure.
	retryAfter = 30 * time.Second
	// endWithin is the maximum time that Run of a Recorder or a Journal takes to end while the disk hangs.
	endWithin = 5 * time.Second
)

// errTooSlow means that events arrived faster than the disk could store them.
var errTooSlow = errors.New("the disk hangs or is too slow")

// Settings configure a Recorder.
type Settings struct {
	// Dir is the directory for the recordings. It is created if it does not exist.
	Dir string
	// Size is the maximum size of the directory in bytes. Age is the retention time of events.
	Size int64
	Age  time.Duration
	// List lists the objects of a resource and returns the list's resourceVersion. The recorder calls it after events
	// were lost.
	List func(ctx context.Context, kind event.Kind, each func(event.Object)) (version string, err error)
	// Head returns data to store at the beginning of each segment (Segment.Head). It may be nil. The recorder calls it
	// with the time at which the segment begins. The data should not reflect later events, which follow in the segment.
	Head func(begins time.Time) json.RawMessage
}

// Recorder records events. Its callers never wait for the disk.
type Recorder struct {
	settings Settings
	log      *slog.Logger
	// wake receives a value when the load of the queue exceeds writeAbove.
	wake chan struct{}

	mu     sync.Mutex
	status Status
	queue  []event.Event
	load   int // load is the load of the queue
	// losing is set while events are lost: from the first one until the writer takes the queue. last is the state after
	// the last event, lost or not.
	losing bool
	last   gap
}

// Status describes the state of a Recorder.
type Status struct {
	// Recording is set while events are being written. Since is the time at which Recording last changed. Err is the
	// reason why nothing is recorded.
	Recording bool
	Since     time.Time
	Err       error
	// Oldest is the time of the oldest event in the recordings.
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
	return &Recorder{settings: s, log: logger, wake: make(chan struct{}, 1)}, nil
}

// Record queues an event. It never waits for the disk. If the queue is full, the event is lost and counted.
func (r *Recorder) Record(ev event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.Kind == event.KindCluster && ev.Object != nil {
		r.last.cluster = ev
	}
	r.last.watches.note(ev, 1)
	switch load := r.load + loadOf(ev.Object); {
	case r.losing:
		r.status.Lost++
	case load > queueLimit:
		r.lose(1, errTooSlow)
	default:
		r.queue, r.load = append(r.queue, ev), load
		if load > writeAbove && len(r.wake) == 0 {
			r.wake <- struct{}{} // it has room, because only this function sends, and holds mu
		}
	}
}

func loadOf(object event.Object) int {
	const perEvent = 4
	switch o := object.(type) {
	case *event.EndpointSlice:
		return 1 + len(o.Addresses)/perEvent
	case *event.Endpoints:
		return 1 + len(o.Addresses)/perEvent
	}
	return 1
}

// lose counts lost events. The caller must hold mu.
func (r *Recorder) lose(n int, because error) {
	r.status.Lost += uint64(n)
	if r.status.Err == nil {
		r.status.Gaps++
		r.status.Since = time.Now()
		go func() { r.log.Error("recording failed, retrying", "err", because) }() // the caller must not wait for the log
	}
	r.losing, r.status.Recording, r.status.Err = true, false, because
}

// fail is called after a failure. The events in the queue, and some events that were taken from it, are lost.
func (r *Recorder) fail(unwritten int, because error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.lose(unwritten+len(r.queue), because)
	r.queue, r.load = nil, 0
}

// take removes all events from the queue. If events were lost after them, it returns the state at the end of the gap: new
// events are no longer lost.
func (r *Recorder) take() (events []event.Event, lost *gap) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.losing {
		last := r.last
		lost, r.losing = &last, false
	}
	events, r.queue, r.load = r.queue, nil, 0
	return events, lost
}

// Status returns the state of the recorder.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

// measured updates the status. Its arguments are all segments, and whether the last one is open.
func (r *Recorder) measured(all []Segment, open bool) {
	r.mu.Lock()
	before := r.status
	r.status.Oldest = time.Time{}
	if len(all) > 0 {
		r.status.Oldest = all[0].Begins
	}
	if open && !r.losing && !before.Recording {
		r.status.Recording, r.status.Since, r.status.Err = true, time.Now(), nil
	}
	now := r.status
	r.mu.Unlock()
	if now.Err == nil && before.Err != nil {
		r.log.Info("resumed recording", "after", now.Since.Sub(before.Since).Round(time.Second), "events lost", now.Lost)
	}
}

// Run records until the context is canceled. It then writes the events in the queue. After a failure, it tries again. It
// never returns an error, because kubeflap must run even if it cannot record.
func (r *Recorder) Run(ctx context.Context) error {
	endInTime(ctx, func() {
		for {
			unwritten, err := r.session(ctx)
			if err == nil {
				return
			}
			r.fail(unwritten, err)
			select {
			case <-ctx.Done():
				return
			case <-time.After(retryAfter):
			}
		}
	})
	return nil
}

// endInTime calls a function that ends after the context is canceled. If the disk hangs then, endInTime does not wait for it.
func endInTime(ctx context.Context, run func()) {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		run()
	}()
	<-ctx.Done()
	select {
	case <-ended:
	case <-time.After(endWithin):
	}
}

// session records until the context is canceled or a failure occurs. After a failure, it returns the number of events
// that were taken from the queue, but may not be on the disk.
func (r *Recorder) session(ctx context.Context) (unwritten int, err error) {
	if err := os.MkdirAll(r.settings.Dir, 0o700); err != nil {
		return 0, fmt.Errorf("create the recordings directory: %w", err)
	}
	lock := flock.New(filepath.Join(r.settings.Dir, "lock"), flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return 0, fmt.Errorf("lock the recordings directory: %w", err)
	case !locked:
		return 0, fmt.Errorf("another process is recording into %s", r.settings.Dir)
	}
	w := &writer{recorder: r}
	err = w.run(ctx)
	if closeErr := w.close(); err == nil {
		err = closeErr
	}
	return w.unwritten, err
}
