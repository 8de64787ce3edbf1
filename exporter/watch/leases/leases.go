// Package leases reads the Leases of nodes directly. A watch is served from the API server's memory and may be behind; a
// direct read shows what etcd has.
package leases

import (
	"context"
	"regexp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// timeout limits Read. Without etcd, /readyz answers after 4 s: two of its checks wait for 2 s each, one after the other (apiserver,
// storage/storagebackend, DefaultHealthcheckTimeout and DefaultReadinessTimeout).
const timeout = 5 * time.Second

// Reader reads Leases.
type Reader struct {
	client   *apiclient.Client
	resource apiclient.Resource
	sink     func(event.Event)
}

// NewReader makes a Reader that passes its events to sink. The resource is that of the Leases.
func NewReader(client *apiclient.Client, resource apiclient.Resource, sink func(event.Event)) *Reader {
	return &Reader{client, resource, sink}
}

// Read reads some nodes' Leases. At the same time it asks for /readyz?verbose, which often says why they cannot be read.
//
// It emits one Asking, a Read for each Lease, and at the end one Answered or Unanswered. When ctx ends, it emits nothing
// more. It returns within 5 s.
func (r *Reader) Read(ctx context.Context, names []string) {
	if len(names) == 0 || ctx.Err() != nil {
		return
	}
	r.emit(event.Asking, nil, "")
	limited, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	ready := make(chan readiness, 1)
	go func() { ready <- r.readyz(limited) }()
	answered, err := r.readAll(ctx, limited, names)
	if err == nil {
		cancel() // the answer of /readyz does not matter any more
	}
	server := <-ready // so that no goroutine is left
	switch {
	case ctx.Err() != nil:
	case err == nil:
		r.emit(event.Answered, nil, "")
	case server.failedCheck != "":
		r.emit(event.Answered, nil, event.NotReady(server.failedCheck))
	case answered || server.answered:
		r.emit(event.Answered, nil, apiclient.Reason(err))
	default:
		r.emit(event.Unanswered, nil, apiclient.Reason(err))
	}
}

func (r *Reader) emit(what event.Type, lease event.Object, reason event.Reason) {
	r.sink(event.Event{Seen: time.Now(), Kind: event.KindLease, Type: what, Object: lease, Reason: reason})
}

// readAll reads all Leases concurrently and emits each when it arrives, until ctx ends. It reports whether anything answered,
// and the first failure.
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
			r.emit(event.Read, a.lease, "")
		}
		answered = answered || a.err == nil || apiclient.IsAnswered(a.err)
		if failed == nil {
			failed = a.err
		}
	}
	return answered, failed
}

// readiness is the answer of /readyz.
type readiness struct {
	answered bool
	// failedCheck is the first failed check, empty if there is none.
	failedCheck string
}

// failedCheck matches the line of a failed check (apiserver, server/healthz, handleRootHealth). It leaves out the names with
// other characters: those are hooks that run once after the start.
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
