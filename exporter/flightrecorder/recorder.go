// Package flightrecorder continuously records events in a directory, so that past incidents can be replayed. The size
// and the age of the recordings are limited.
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
	"sync"
	"time"

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
	// keptQueue is the maximum capacity of a queue that is used again. A larger one is released, because it is rare.
	keptQueue = 2 * writeAbove
	// endWithin is the maximum time that Run takes to end while the disk hangs.
	endWithin = 5 * time.Second
)

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
	// Head returns data that is stored at the beginning of each segment (Segment.Head). It may be nil.
	Head func() json.RawMessage
}

// Recorder records events. Its callers never wait for the disk.
type Recorder struct {
	settings Settings
	log      *slog.Logger
	// wake receives a value when the queue exceeds writeAbove. full receives a value when events are lost because the
	// queue is full.
	wake, full chan struct{}

	mu     sync.Mutex
	status Status
	queue  []event.Event
	// load is the load of the queue. taken is the load of the events that the writer is writing.
	load, taken int
	// losing is set from the first lost event until the next segment begins. All events in between are lost.
	losing bool
	// watches is the state of the watches after the last event, lost or not. cluster is the latest event of KindCluster.
	watches watches
	cluster event.Event
}

// Status describes the state of a Recorder.
type Status struct {
	// Recording is set while events are being written. Since is the time at which Recording last changed. Err is the
	// reason why nothing is recorded.
	Recording bool
	Since     time.Time
	Err       error
	// Bytes is the size of the recordings. Oldest is the time of the oldest event in them.
	Bytes  int64
	Oldest time.Time
	// Lost is the number of events that could not be written. Gaps is the number of periods in which events were lost.
	Lost uint64
	Gaps uint64
}

// errTooSlow means that events arrived faster than the disk could store them.
var errTooSlow = errors.New("the disk hangs or is too slow")

// New checks the settings and returns a Recorder. Nothing is written until Run is called.
func New(s Settings, logger *slog.Logger) (*Recorder, error) {
	if info, err := os.Stat(s.Dir); err == nil && !info.IsDir() {
		return nil, fmt.Errorf("--data.dir=%s is not a directory", s.Dir)
	}
	return &Recorder{settings: s, log: logger, wake: make(chan struct{}, 1), full: make(chan struct{}, 1)}, nil
}

// Record queues an event. It never waits for the disk. If the queue is full, the event is lost and counted.
func (r *Recorder) Record(ev event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ev.Kind == event.KindCluster && ev.Object != nil {
		r.cluster = ev
	}
	r.watches.note(ev, 1)
	load := r.load + loadOf(ev)
	switch {
	case r.losing:
		r.status.Lost++
		return
	case load+r.taken > queueLimit:
		r.lose(1, errTooSlow)
		notify(r.full)
		return
	}
	r.queue, r.load = append(r.queue, ev), load
	if load > writeAbove {
		notify(r.wake)
	}
}

func loadOf(ev event.Event) int {
	const perEvent = 4
	switch o := ev.Object.(type) {
	case *event.EndpointSlice:
		return 1 + len(o.Addresses)/perEvent
	case *event.Endpoints:
		return 1 + len(o.Addresses)/perEvent
	}
	return 1
}

func notify(c chan<- struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// lose counts lost events. The caller must hold mu.
func (r *Recorder) lose(n int, because error) {
	r.status.Lost += uint64(n)
	if r.status.Err == nil {
		r.status.Gaps++
		r.status.Since = time.Now()
	}
	r.losing, r.status.Recording, r.status.Err = true, false, because
}

// fail is called after a failure. The events in the queue, and some events that were taken from it, are lost. fail
// reports whether this is the first failure since the recorder recorded.
func (r *Recorder) fail(unwritten int, because error) (first bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first = r.status.Err == nil
	r.lose(unwritten+len(r.queue), because)
	r.queue, r.load, r.taken = nil, 0, 0
	return first
}

// take removes all events from the queue. losing reports whether events were lost after them. The parameter written
// holds the previous result, whose events were written.
func (r *Recorder) take(written []event.Event) (events []event.Event, losing bool) {
	clear(written)
	if cap(written) > keptQueue {
		written = nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	events, r.queue = r.queue, written[:0]
	r.taken, r.load = r.load, 0
	return events, r.losing
}

// resume makes the recorder accept events again after events were lost. It returns the state of the watches at this
// time.
func (r *Recorder) resume() (watches, event.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.losing = false
	return r.watches, r.cluster
}

// markRecording is called when a segment begins. If this ends a gap, it returns the status in the gap.
func (r *Recorder) markRecording() (gap Status) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.losing || r.status.Recording {
		return gap
	}
	gap = r.status
	r.status.Recording, r.status.Since, r.status.Err = true, time.Now(), nil
	return gap
}

// Status returns the state of the recorder.
func (r *Recorder) Status() Status {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.status
}

func (r *Recorder) measured(all []Segment) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.status.Bytes = 0
	for _, s := range all {
		r.status.Bytes += s.Size
	}
	r.status.Oldest = oldest(all)
}

// Run records until the context is canceled. After a disk failure, or if another process uses the directory, it tries
// again. It never returns an error, because kubeflap must run even if it cannot record.
func (r *Recorder) Run(ctx context.Context) error {
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		r.write(ctx)
	}()
	for {
		select {
		case <-r.full:
			r.log.Error("recording failed, retrying", "err", errTooSlow)
		case <-ctx.Done():
			select {
			case <-ended:
			case <-time.After(endWithin):
			}
			return nil
		}
	}
}
