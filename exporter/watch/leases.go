package watch

import (
	"cmp"
	"context"
	"regexp"
	"slices"
	"sync"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// readTimeout is the maximum duration of ReadLeases. If etcd is down, /readyz responds after 4 s, because two of its
// checks run in sequence and wait for 2 s each (apiserver, storage/storagebackend, DefaultHealthcheckTimeout and
// DefaultReadinessTimeout).
const readTimeout = 5 * time.Second

// failedCheck matches the line of a failed check (apiserver, server/healthz, handleRootHealth). It does not match names
// that contain "/". Such names belong to hooks that run once after startup.
var failedCheck = regexp.MustCompile(`(?m)^\[-\]([a-z-]+) `)

// ReadLeases reads the Leases of nodes from etcd. Watches, in contrast, are served from the API server's memory, which may
// lag behind etcd. It also requests /readyz?verbose, which often explains why Leases cannot be read.
//
// ReadLeases first emits an event of type DirectReadStarted, then an event of type DirectReadLease for each received
// Lease, and finally an event of type DirectReadAnswered or DirectReadUnanswered. It emits nothing after ctx is canceled.
// It returns within 5 s. It is safe for concurrent use.
func (w *Watcher) ReadLeases(ctx context.Context, names []string) {
	if len(names) == 0 || ctx.Err() != nil {
		return
	}
	w.emit(event.KindLease, event.DirectReadStarted, nil, "")
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var readyz []byte // nil if there is no response
	var probe, reads sync.WaitGroup
	probe.Go(func() { readyz, _ = w.client.Readyz(limited) })
	leases, errs := w.resource(event.KindLease), make([]error, len(names))
	for i, name := range names {
		reads.Go(func() {
			lease, err := leases.Get(limited, name)
			if errs[i] = err; lease != nil && ctx.Err() == nil {
				w.emit(event.KindLease, event.DirectReadLease, lease, "")
			}
		})
	}
	reads.Wait()
	err := cmp.Or(errs...)
	if err == nil {
		cancel() // the response of /readyz is no longer needed
	}
	probe.Wait()
	failed := failedCheck.FindSubmatch(readyz)
	answered := readyz != nil || slices.ContainsFunc(errs, func(err error) bool { return err == nil || apiclient.IsAnswered(err) })
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.emit(event.KindLease, event.DirectReadAnswered, nil, "")
	case failed != nil:
		w.emit(event.KindLease, event.DirectReadAnswered, nil, event.NotReady(string(failed[1])))
	case answered:
		w.emit(event.KindLease, event.DirectReadAnswered, nil, apiclient.Reason(err))
	default:
		w.emit(event.KindLease, event.DirectReadUnanswered, nil, apiclient.Reason(err))
	}
}
