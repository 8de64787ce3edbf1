package proxy

import (
	"context"
	"sync"
	"time"
)

// Extent is how much of a resource is frozen.
type Extent int

const (
	// OpenWatches is those that are open: a new one works.
	OpenWatches Extent = iota
	// AllWatches is the new ones too, which get no answer: lists and gets do.
	AllWatches
	// AllRequests is everything that is asked.
	AllRequests
)

// faults are what the proxy was told, for all its connections.
type faults struct {
	mu     sync.Mutex
	delays map[string]time.Duration
	frozen map[string]freeze
	// status is what every request is answered with, if not 0.
	status int
	// ending: each watch ends right after it was opened.
	ending bool
	// opened counts the watches; those up to the number ended have to end.
	opened, ended int
	// changed is closed with each change of the above.
	changed chan struct{}
}

// freeze is of the watches up to a number, or of more.
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

// answer is the status to answer everything with, 0 if the API server answers.
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

// admit waits until a request is not frozen.
func (f *faults) admit(ctx context.Context, resource string, watch bool) error {
	return f.until(ctx, func() bool {
		freeze, frozen := f.frozen[resource]
		return !frozen || freeze.extent < AllWatches || freeze.extent == AllWatches && !watch
	})
}

// open counts a new watch.
func (f *faults) open(resource string) *opened {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &opened{faults: f, resource: resource, number: f.opened}
}

// opened is a watch.
type opened struct {
	*faults
	resource string
	number   int
}

// over reports whether it must end. The caller holds the lock.
func (w *opened) over() bool { return w.ending || w.number <= w.ended }

// pass waits until what has arrived then may go on to the client; over says that the watch must end.
func (w *opened) pass(ctx context.Context, arrived time.Time) (over bool, err error) {
	w.mu.Lock()
	late := w.delays[w.resource] - time.Since(arrived)
	w.mu.Unlock()
	if late > 0 {
		pause, cancel := context.WithTimeout(ctx, late)
		defer cancel()
		// It may have to end before its time.
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
