package flightrecorder

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gofrs/flock"
)

const (
	// retryAfter is the delay before the first retry after a failure. Each failed retry doubles the delay, up to
	// retryAtMost, because each retry lists all resources.
	retryAfter  = 10 * time.Second
	retryAtMost = 5 * time.Minute
)

var errInUse = errors.New("another process is recording into")

// write records until the context is canceled. It then writes the events in the queue. After a failure, it tries again.
func (r *Recorder) write(ctx context.Context) {
	wait := retryAfter
	for {
		began := time.Now()
		unwritten, err := r.session(ctx)
		if err == nil {
			return
		}
		if r.fail(unwritten, err) {
			r.log.Error("recording failed, retrying", "err", err)
		}
		if errors.Is(err, errInUse) || time.Since(began) > retryAtMost {
			wait = retryAfter
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = min(2*wait, retryAtMost)
	}
}

// session records until the context is canceled or a failure occurs. After a failure, it returns the number of events
// that were taken from the queue, but may not be on the disk.
func (r *Recorder) session(ctx context.Context) (unwritten int, err error) {
	if err := os.MkdirAll(r.settings.Dir, 0o700); err != nil {
		return 0, fmt.Errorf("create the recordings directory: %w", err)
	}
	lock := flock.New(filepath.Join(r.settings.Dir, lockName), flock.SetPermissions(0o600))
	defer func() { _ = lock.Close() }()
	switch locked, err := lock.TryLock(); {
	case err != nil:
		return 0, fmt.Errorf("lock the recordings directory: %w", err)
	case !locked:
		return 0, fmt.Errorf("%w %s", errInUse, r.settings.Dir)
	}
	w, err := newWriter(r)
	if err != nil {
		return 0, err
	}
	err = w.run(ctx)
	if closeErr := w.close(); err == nil {
		err = closeErr
	}
	return w.unwritten, err
}
