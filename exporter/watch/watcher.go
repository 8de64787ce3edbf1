package watch

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// recheck is how often a resource that could not be watched is tried again.
const recheck = time.Minute

// Watcher watches a cluster, or a namespace of it.
type Watcher struct {
	// namespace is empty for all of them.
	namespace string
	log       *slog.Logger
	sink      func(event.Event)
	clients   *clients
	endpoints []endpoint
	version   serverVersion
	// leases is the client for direct reads.
	leases rest.Interface
	// streams are the watches that run, by resource.
	streams [event.NumKinds]atomic.Pointer[stream]
}

// New prepares to watch the cluster that config leads to, or if a namespace is given only that, and
// the nodes if that is allowed. The sink gets all events:
// those of one resource one after the other, those of several resources at once.
func New(config *rest.Config, namespace string, logger *slog.Logger, sink func(event.Event)) (*Watcher, error) {
	if faults := validation.IsDNS1123Label(namespace); namespace != "" && len(faults) > 0 {
		return nil, fmt.Errorf("namespace %q: %s", namespace, faults[0])
	}
	config = rest.CopyConfig(config)
	config.WarningHandler = newWarnings(logger)
	config.Wrap(func(transport http.RoundTripper) http.RoundTripper { return answers{transport} })
	clients, err := newClients(config)
	if err != nil {
		return nil, err
	}
	w := &Watcher{namespace: namespace, log: logger, sink: sink, clients: clients}
	for _, r := range resources(namespace) {
		client, err := clients.forGroup(r.group)
		if err != nil {
			return nil, err
		}
		w.endpoints = append(w.endpoints, endpoint{resource: r, client: client, params: clients.params})
		if r.kind == event.KindLease {
			w.leases = client
		}
	}
	client, err := clients.forGroup(core)
	if err != nil {
		return nil, err
	}
	w.version = serverVersion{client: client, log: logger, sink: sink, again: make(chan struct{}, 1)}
	return w, nil
}

// Run watches until the context ends. It returns an error only at the start: if
// credentials are refused, or a right is missing without which there is
// nothing to tell. A server that cannot be reached is waited for.
func (w *Watcher) Run(ctx context.Context) error {
	defer utilnet.CloseIdleConnectionsFor(w.clients.http.Transport)
	access, err := w.preflight(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	w.version.read(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.version.run(ctx) })
	for _, a := range access {
		running.Go(func() { w.follow(ctx, a) })
	}
	running.Wait()
	return nil
}

// Reopen ends the watch of a resource as if it had been silent, because a direct read has shown what the watch has not:
// it is behind. The next one goes on from where this one was, and has to prove itself. Without a watch that runs there
// is nothing to do. Any goroutine may call it.
func (w *Watcher) Reopen(kind event.Kind) {
	if int(kind) >= len(w.streams) {
		return
	}
	if s := w.streams[kind].Load(); s != nil {
		s.reopen()
	}
}

// follow follows one resource, from when and as long as it can be.
func (w *Watcher) follow(ctx context.Context, a access) {
	var listed time.Time
	for ctx.Err() == nil {
		if len(a.refused) > 0 || a.absent && listed.IsZero() {
			w.sink(event.Event{Seen: time.Now(), Kind: a.kind, Type: event.Unavailable, Reason: a.reason()})
			w.log.Warn("cannot watch "+a.kind.String()+", trying each minute", "cause", a.explain(), "lost", a.without)
			if !untilGranted(ctx, a.endpoint) {
				return
			}
			w.log.Info("can watch " + a.kind.String() + " now")
		}
		f := newFollower(a.endpoint, w)
		f.health.listed = listed
		f.run(ctx)
		listed = f.health.listed
		if ctx.Err() == nil {
			a = check(ctx, a.endpoint)
		}
	}
}

// untilGranted waits until the resource can be watched; false if the context ends before.
func untilGranted(ctx context.Context, e endpoint) bool {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
			if a := check(ctx, e); a.granted() && ctx.Err() == nil {
				return true
			}
		}
	}
}
