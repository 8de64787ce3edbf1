package watch

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// versionPeriod is the interval between reads of the API server's version, which changes with an upgrade.
const versionPeriod = 5 * time.Minute

// RedirectKlog redirects client-go's log to the given logger. Call RedirectKlog at startup, because klog's global logger
// must not be set while other goroutines log.
func RedirectKlog(logger *slog.Logger) { klog.SetSlogLogger(logger) }

// Watcher watches a cluster or one namespace.
type Watcher struct {
	// FailFast is set if somebody waits for the first lists. Run then returns an error if nobody answers at the server's
	// address, or something that is no API server.
	FailFast bool
	// namespaced is set if only one namespace is watched. The permission to watch nodes is then optional.
	namespaced bool
	// server names the API server in log lines.
	server    string
	log       *slog.Logger
	sink      func(event.Event)
	client    *apiclient.Client
	resources []apiclient.Resource
	// A value in the channel behind means that the watch of Leases must end, because it lags behind etcd.
	behind chan struct{}
}

// New returns a Watcher for the cluster that config describes. Log lines call it `server`. If namespace is not empty, the Watcher only watches that
// namespace and, if permitted, nodes. The Watcher calls sink for each event. Calls may be concurrent, but the events of a
// watch are in order.
func New(config *rest.Config, server, namespace string, logger *slog.Logger, sink func(event.Event)) (*Watcher, error) {
	if faults := validation.IsDNS1123Label(namespace); namespace != "" && len(faults) > 0 {
		return nil, fmt.Errorf("namespace %q: %s", namespace, faults[0])
	}
	client, err := apiclient.New(config)
	if err != nil {
		return nil, err
	}
	return &Watcher{
		namespaced: namespace != "", server: server, log: logger, sink: sink, client: client, resources: client.Resources(namespace),
		behind: make(chan struct{}, 1),
	}, nil
}

// Run watches until the context is canceled. Without FailFast, it waits while the server is unreachable. At startup, it
// returns an error if the server rejects the credentials or a required permission is missing.
func (w *Watcher) Run(ctx context.Context) error {
	defer w.client.CloseIdleConnections()
	checks, err := w.preflight(ctx)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	var running sync.WaitGroup
	running.Go(func() { w.followVersion(ctx) })
	for i, resource := range w.resources {
		running.Go(func() { w.newFollower(resource).run(ctx, checks[i]) })
	}
	running.Wait()
	return nil
}

// ClusterUID returns a text that identifies the cluster. It returns an error if the server does not answer within 10 s, or
// if the permission to get the namespace kube-system is missing. It is safe for concurrent use.
func (w *Watcher) ClusterUID(ctx context.Context) (string, error) { return w.client.ClusterUID(ctx) }

// ReopenLeases ends the watch of node Leases, and lists them again. Call it if a direct read returned a newer state than
// the watch. ReopenLeases is safe for concurrent use.
func (w *Watcher) ReopenLeases() {
	select {
	case w.behind <- struct{}{}:
	default: // the watch is about to end
	}
}

// List passes each object of a resource to the given function, page by page, and returns the list's resourceVersion. It
// does not affect the resource's watch. It is safe for concurrent use.
func (w *Watcher) List(ctx context.Context, kind event.Kind, each func(event.Object)) (version string, err error) {
	resource := w.resource(kind)
	if resource == nil {
		return "", fmt.Errorf("%v are not watched", kind)
	}
	if version, err = resource.List(ctx, false, each); err != nil {
		return "", fmt.Errorf("list %v: %w", kind, err)
	}
	return version, nil
}

// resource returns the resource of a kind, or nil if it is not watched.
func (w *Watcher) resource(kind event.Kind) *apiclient.Resource {
	at := slices.IndexFunc(w.resources, func(r apiclient.Resource) bool { return r.Kind == kind })
	if at < 0 {
		return nil
	}
	return &w.resources[at]
}

func (w *Watcher) emit(kind event.Kind, what event.Type, object event.Object, reason event.Reason) {
	w.sink(event.Event{Seen: time.Now(), Kind: kind, Type: what, Object: object, Reason: reason})
}

// followVersion reads the API server's version periodically until the context is canceled, and emits it if it has
// changed. Errors are only logged, because kubeflap works without the version.
func (w *Watcher) followVersion(ctx context.Context) {
	known := ""
	for ok := true; ok; ok = sleep(ctx, versionPeriod) {
		version, err := w.client.Version(ctx)
		switch {
		case ctx.Err() != nil:
		case err != nil:
			w.log.Warn("cannot read the version of the API server", "err", err)
		case version != known:
			known = version
			w.log.Info("watching a cluster", "version", version)
			w.emit(event.KindCluster, event.Listed, &event.Cluster{Version: version}, "")
		}
	}
}
