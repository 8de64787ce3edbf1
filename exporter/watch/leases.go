package watch

import (
	"context"
	"regexp"
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
	w.emitRead(event.DirectReadStarted, nil, "")
	limited, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	ready := make(chan []byte, 1)
	go func() {
		text, _ := w.client.Readyz(limited) // nil if there is no response
		ready <- text
	}()
	answered, err := w.readAll(ctx, limited, names)
	if err == nil {
		cancel() // the response of /readyz is no longer needed
	}
	text := <-ready // wait, so that no goroutine remains
	failed := failedCheck.FindSubmatch(text)
	switch {
	case ctx.Err() != nil:
	case err == nil:
		w.emitRead(event.DirectReadAnswered, nil, "")
	case failed != nil:
		w.emitRead(event.DirectReadAnswered, nil, event.NotReady(string(failed[1])))
	case answered || text != nil:
		w.emitRead(event.DirectReadAnswered, nil, apiclient.Reason(err))
	default:
		w.emitRead(event.DirectReadUnanswered, nil, apiclient.Reason(err))
	}
}

func (w *Watcher) emitRead(what event.Type, lease event.Object, reason event.Reason) {
	w.sink(event.Event{Seen: time.Now(), Kind: event.KindLease, Type: what, Object: lease, Reason: reason})
}

// readAll reads all Leases concurrently. It emits each Lease on arrival, unless ctx is canceled. It reports whether
// there was any response, and returns the first error.
func (w *Watcher) readAll(ctx, limited context.Context, names []string) (answered bool, failed error) {
	type answer struct {
		lease event.Object
		err   error
	}
	answers := make(chan answer, len(names))
	leases := w.resource(event.KindLease)
	for _, name := range names {
		go func() {
			lease, err := leases.Get(limited, name)
			answers <- answer{lease, err}
		}()
	}
	for range names {
		a := <-answers
		if a.lease != nil && ctx.Err() == nil {
			w.emitRead(event.DirectReadLease, a.lease, "")
		}
		answered = answered || a.err == nil || apiclient.IsAnswered(a.err)
		if failed == nil {
			failed = a.err
		}
	}
	return answered, failed
}
