// Package leases requests node Leases in a way that makes the API server read them from etcd. Watches, in contrast, are
// served from the API server's memory, which may lag behind etcd.
package leases

import (
	"context"
	"regexp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// timeout is the maximum duration of Reader.Read. If etcd is down, /readyz responds after 4 s, because two of its
// checks run in sequence and wait for 2 s each (apiserver, storage/storagebackend, DefaultHealthcheckTimeout and
// DefaultReadinessTimeout).
const timeout = 5 * time.Second

// Reader reads Leases.
type Reader struct {
	client   *apiclient.Client
	resource apiclient.Resource
	sink     func(event.Event)
}

// NewReader returns a Reader that passes its events to sink. The resource must be the node Leases.
func NewReader(client *apiclient.Client, resource apiclient.Resource, sink func(event.Event)) *Reader {
	return &Reader{client, resource, sink}
}

// Read reads the Leases of nodes. It also requests /readyz?verbose, which often explains why Leases cannot be read.
//
// Read first emits an event of type DirectReadStarted, then an event of type DirectReadLease for each received Lease,
// and finally an event of type DirectReadAnswered or DirectReadUnanswered. It emits nothing after ctx is canceled. It
// returns within 5 s.
func (r *Reader) Read(ctx context.Context, names []string) {
	if len(names) == 0 || ctx.Err() != nil {
		return
	}
	r.emit(event.DirectReadStarted, nil, "")
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ready := make(chan readiness, 1)
	go func() { ready <- r.readyz(limited) }()
	answered, err := r.readAll(ctx, limited, names)
	if err == nil {
		cancel() // the response of /readyz is no longer needed
	}
	server := <-ready // Wait, so that no goroutine remains
	switch {
	case ctx.Err() != nil:
	case err == nil:
		r.emit(event.DirectReadAnswered, nil, "")
	case server.failedCheck != "":
		r.emit(event.DirectReadAnswered, nil, event.NotReady(server.failedCheck))
	case answered || server.answered:
		r.emit(event.DirectReadAnswered, nil, apiclient.Reason(err))
	default:
		r.emit(event.DirectReadUnanswered, nil, apiclient.Reason(err))
	}
}

func (r *Reader) emit(what event.Type, lease event.Object, reason event.Reason) {
	r.sink(event.Event{Seen: time.Now(), Kind: event.KindLease, Type: what, Object: lease, Reason: reason})
}

// readAll reads all Leases concurrently. It emits each Lease on arrival, unless ctx is canceled. It reports whether
// there was any response, and returns the first error.
func (r *Reader) readAll(ctx, limited context.Context, names []string) (answered bool, failed error) {
	type answer struct {
		lease event.Object
		err   error
	}
	answers := make(chan answer, len(names))
	for _, name := range names {
		go func() {
			lease, err := r.resource.Get(limited, name)
			answers <- answer{lease, err}
		}()
	}
	for range names {
		a := <-answers
		if a.lease != nil && ctx.Err() == nil {
			r.emit(event.DirectReadLease, a.lease, "")
		}
		answered = answered || a.err == nil || apiclient.IsAnswered(a.err)
		if failed == nil {
			failed = a.err
		}
	}
	return answered, failed
}

// readiness is the result of /readyz.
type readiness struct {
	answered bool
	// failedCheck is the name of the first failed check, or empty.
	failedCheck string
}

// failedCheck matches the line of a failed check (apiserver, server/healthz, handleRootHealth). It does not match names
// that contain "/". Such names belong to hooks that run once after startup.
var failedCheck = regexp.MustCompile(`(?m)^\[-\]([a-z-]+) `)

func (r *Reader) readyz(ctx context.Context) readiness {
	text, err := r.client.Readyz(ctx)
	if err != nil {
		return readiness{}
	}
	if found := failedCheck.FindSubmatch(text); found != nil {
		return readiness{answered: true, failedCheck: string(found[1])}
	}
	return readiness{answered: true}
}
