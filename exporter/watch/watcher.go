package watch

import (
	"context"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
	"github.com/kubeflap/kubeflap/exporter/watch/leases"
	"github.com/kubeflap/kubeflap/exporter/watch/permissions"
)

// recheck is how often a resource that cannot be watched is tried again.
const recheck = time.Minute

// Watcher watches a cluster or one namespace.
type Watcher struct {
	// namespaced: only one namespace is watched, so nodes are optional.
	namespaced bool
	log        *slog.Logger
	sink       func(event.Event)
	client     *apiclient.Client
	resources  []apiclient.Resource
	version    serverVersion
	leases     *leases.Reader
	// streams are the open watches, by kind.
	streams [event.NumKinds]atomic.Pointer[stream]
	// reminders say each minute that the API server still cannot be reached.
	reminders reminders
}

// New prepares to watch the cluster of config. If a namespace is given, it watches only that, and nodes if it may. The sink
// gets all events. It is called for one event of a kind at a time, and concurrently for several kinds.
func New(config *rest.Config, namespace string, logger *slog.Logger, sink func(event.Event)) (*Watcher, error) {
	if faults := validation.IsDNS1123Label(namespace); namespace != "" && len(faults) > 0 {
		return nil, fmt.Errorf("namespace %q: %s", namespace, faults[0])
	}
	client, err := apiclient.New(config, logger)
	if err != nil {
		return nil, err
	}
	w := &Watcher{
		namespaced: namespace != "", log: logger, sink: sink, client: client, resources: client.Resources(namespace),
		version: serverVersion{client: client, log: logger, sink: sink, again: make(chan struct{}, 1)},
	}
	for _, r := range w.resources {
		if r.Kind == event.KindLease {
			w.leases = leases.NewReader(client, r, sink)
		}
	}
	return w, nil
}

// Run watches until the context ends. It waits for a server that cannot be reached. It fails only at the start: if the server
// refuses the credentials, or if a permission is missing that kubeflap cannot do without.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.client.CloseIdleConnections()
	all, err := permissions.Preflight(ctx, w.resources, w.namespaced, w.log)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	w.version.read(ctx)
	var running sync.WaitGroup
	running.Go(func() { w.version.run(ctx) })
	for _, access := range all {
		running.Go(func() { w.follow(ctx, access) })
	}
	running.Wait()
	return nil
}

// ReadLeases reads some nodes' Leases directly: see leases.Reader. Any goroutine may call it.
func (w *Watcher) ReadLeases(ctx context.Context, names []string) { w.leases.Read(ctx, names) }

// Reopen ends the watch of a kind, because a direct read has shown that it is behind. The next watch continues where this one
// was, and is suspect until it has brought something. Reopen does nothing if no watch is open. Any goroutine may call it.
func (w *Watcher) Reopen(kind event.Kind) {
	if int(kind) >= len(w.streams) {
		return
	}
	if s := w.streams[kind].Load(); s != nil {
		s.reopen()
	}
}

// follow follows a resource whenever it can be watched, until the context ends.
func (w *Watcher) follow(ctx context.Context, access permissions.Access) {
	var listed time.Time
	for ctx.Err() == nil {
		if access.Refused() || access.Absent() && listed.IsZero() {
			w.sink(event.Event{Seen: time.Now(), Kind: access.Kind, Type: event.Unavailable, Reason: access.Reason()})
			w.log.Warn("cannot watch "+access.Kind.String()+", retrying every minute", "cause", access.Explain(), "lost", access.Lost)
			if !untilGranted(ctx, access.Resource) {
				return
			}
			w.log.Info("can watch " + access.Kind.String() + " now")
		}
		f := newFollower(access.Resource, w)
		f.health.listed = listed
		f.run(ctx)
		listed = f.health.listed
		if ctx.Err() == nil {
			access = permissions.Check(ctx, access.Resource)
		}
	}
}

// untilGranted waits until the resource can be watched. It reports false if the context ends first.
func untilGranted(ctx context.Context, resource apiclient.Resource) bool {
	tick := time.NewTicker(recheck)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-tick.C:
			if access := permissions.Check(ctx, resource); access.Granted() && ctx.Err() == nil {
				return true
			}
		}
	}
}
