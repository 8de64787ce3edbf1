package proxy

import (
	"context"
	"sync"
	"time"
)

// Extent selects the requests that a freeze of a resource affects.
type Extent int

const (
	// OpenWatches freezes the open watches. New watches still work.
	OpenWatches Extent = iota
	// AllWatches also freezes new watches, which get no response. Lists and gets still work.
	AllWatches
	// AllRequests freezes all requests.
	AllRequests
)

// faults holds the current faults of the proxy, for all its connections.
type faults struct {
	mu     sync.Mutex
	delays map[string]time.Duration
	frozen map[string]freeze
	// status is the HTTP status of the proxy's response to every request, or 0 to forward requests.
	status int
	// ending means that each new watch ends immediately.
	ending bool
	// opened is the number of watches so far. Watches with numbers up to ended must end.
	opened, ended int
	// changed is closed on each change of the fields above.
	changed chan struct{}
}

// freeze affects the watches with numbers up to upTo, or more requests if its extent is wider.
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

// answer returns the HTTP status that the proxy sends for every request, or 0 if it forwards requests.
func (f *faults) answer() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

// until waits until a condition holds, or the context ends.
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

// admit waits until a request is not frozen, or the context ends.
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

// pass waits until data that arrived at the given time may go to the client. over reports whether the watch must end.
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
