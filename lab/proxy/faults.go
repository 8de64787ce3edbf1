package proxy

import (
	"context"
	"sync"
)

// faults holds the current faults of the proxy, for all its connections.
type faults struct {
	mu sync.Mutex
	// frozen is the set of resources whose watches get no data.
	frozen map[string]bool
	// status is the HTTP status with which the proxy answers all requests. If it is 0, the proxy forwards requests.
	status int
	// ending is true if each new watch must end immediately.
	ending bool
	// Watches are numbered from 1, and opened is the number of the newest watch. ended is the number of the newest
	// watch that must end. All older watches must then end, too.
	opened, ended int
	// changed is closed when one of the fields above changes.
	changed chan struct{}
}

func newFaults() faults {
	return faults{frozen: map[string]bool{}, changed: make(chan struct{})}
}

func (f *faults) change(do func(*faults)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	do(f)
	close(f.changed)
	f.changed = make(chan struct{})
}

func (f *faults) answer() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.status
}

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

// admit waits while the request is frozen. It returns an error if the context ends.
func (f *faults) admit(ctx context.Context, resource string, watch bool) error {
	return f.until(ctx, func() bool { return !watch || !f.frozen[resource] })
}

// open registers a new watch.
func (f *faults) open(resource string) *clientWatch {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.opened++
	return &clientWatch{faults: f, resource: resource, number: f.opened}
}

// clientWatch is a watch that a client has opened.
type clientWatch struct {
	*faults
	resource string
	number   int
}

// over reports whether the watch must end. The caller must hold the lock.
func (w *clientWatch) over() bool { return w.ending || w.number <= w.ended }

// pass waits until data can be sent to the client. If pass returns true, the watch must end instead.
func (w *clientWatch) pass(ctx context.Context) (over bool, err error) {
	err = w.until(ctx, func() bool {
		over = w.over()
		return over || !w.frozen[w.resource]
	})
	return over, err
}
