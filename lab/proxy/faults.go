package proxy

import (
	"context"
	"sync"
	"time"
)

// Extent says which requests for a resource are frozen. A frozen request or watch gets no data.
type Extent int

const (
	// OpenWatches freezes watches that are open. Watches that are opened later still work.
	OpenWatches Extent = iota
	// AllWatches freezes open watches, and watches that are opened later. Lists and gets still work.
	AllWatches
	// AllRequests freezes all requests.
	AllRequests
)

// faults holds the current faults of the proxy, for all its connections.
type faults struct {
	mu     sync.Mutex
	delays map[string]time.Duration
	frozen map[string]freeze
	// status is the HTTP status with which the proxy answers all requests. If it is 0, the proxy forwards requests.
	status int
	// ending means that each new watch ends immediately.
	ending bool
	// opened is the number of watches that have been opened. Watches are numbered from 1, and those up to the number
	// ended must end.
	opened, ended int
	// changed is closed when one of the fields above changes.
	changed chan struct{}
}

// freeze is a freeze of a resource. The extent OpenWatches only affects watches up to the number upTo.
type freeze struct {
	extent Extent
	upTo   int
}

func newFaults() faults {
	return faults{delays: map[string]time.Duration{}, frozen: map[string]freeze{}, changed: make(chan struct{})}
}

func (f *faults) change(do func(*faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f)
	close(f.changed)
	f.changed = make(chan struct{})
}

// answer returns the HTTP status with which the proxy answers all requests, or 0 if it forwards them.
func (f *faults) answer() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// until waits until holds returns true, or the context ends.
func (f *faults) until(ctx context.Context, holds func() bool) error {
	for {
		f.mu.Lock()
		held, changed := holds(), f.changed
		f.mu.Unlock()
		if held {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-changed:
		}
	}
}

// admit blocks a request while it is frozen, or until the context ends.
func (f *faults) admit(ctx context.Context, resource string, watch bool) error {
	return f.until(ctx, func() bool {
		freeze, frozen := f.frozen[resource]
		return !frozen || freeze.extent < AllWatches || freeze.extent == AllWatches && !watch
	})
}

// open registers a new watch.
func (f *faults) open(resource string) *opened {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &opened{faults: f, resource: resource, number: f.opened}
}

// opened is a watch that a client has opened.
type opened struct {
	*faults
	resource string
	number   int
}

// over reports whether the watch must end. The caller must hold the lock.
func (w *opened) over() bool { return w.ending || w.number <= w.ended }

// pass waits until the data that arrived at the given time may go to the client. The result over says that the watch
// must end instead.
func (w *opened) pass(ctx context.Context, arrived time.Time) (over bool, err error) {
	w.mu.Lock()
	late := w.delays[w.resource] - time.Since(arrived)
	w.mu.Unlock()
	if late > 0 {
		pause, cancel := context.WithTimeout(ctx, late)
		defer cancel()
		// The watch may have to end during the delay.
		if err := w.until(pause, w.over); ctx.Err() != nil {
			return false, err
		}
	}
	err = w.until(ctx, func() bool {
		freeze, frozen := w.frozen[w.resource]
		over = w.over()
		return over || !frozen || freeze.extent == OpenWatches && w.number > freeze.upTo
	})
	return over, err
}
