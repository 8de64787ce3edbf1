package watch

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// reasonOf returns the reason why a watch ended or a request failed.
func reasonOf(err error) event.Reason {
	if errors.Is(err, errSilent) || errors.Is(err, errBehind) {
		return event.ReasonSilent
	}
	return apiclient.Reason(err)
}

// follower lists and watches one resource.
type follower struct {
	resource apiclient.Resource
	log      *slog.Logger
	sink     func(event.Event)
	health   health
	// A value in the channel behind means that the watch must end, because it lags behind etcd. The channel is nil
	// unless the resource is the node Leases.
	behind chan struct{}

	// version is the resourceVersion at which the next watch starts. If it is empty, the resource is listed first.
	version string
	// unsynced is set after a list, until a watch works.
	unsynced bool
	// peekTime is how long the next watch must stay open until it counts as working, unless an event arrives earlier.
	peekTime time.Duration
}

func newFollower(resource apiclient.Resource, w *Watcher) *follower {
	log := w.log.With("resource", resource.Kind.String())
	f := &follower{resource: resource, log: log, sink: w.sink, peekTime: peekTime, health: health{log: log}}
	if resource.Kind == event.KindLease {
		f.behind = w.behind
	}
	return f
}

// run lists and watches the resource until the context is canceled, or until all requests were denied for
// withdrawnAfter. A broken watch resumes at its last resourceVersion. A list contains only the current state, not the
// changes since the watch broke.
func (f *follower) run(ctx context.Context) {
	backoff := retries()
	for {
		resumed := f.version != ""
		lived, err := f.listAndWatch(ctx)
		if ctx.Err() != nil {
			return
		}
		f.down(err)
		if f.health.isWithdrawn() {
			return
		}
		if mustRelist(err) {
			f.version = ""
		}
		switch {
		case lived:
			backoff = retries()
		case resumed && f.version == "": // list immediately
		case !sleep(ctx, backoff.Step()):
			return
		}
	}
}

// retries returns the back-off for lists and watches. It is the back-off of client-go's reflector, but with a cap of 3
// to 4.5 s instead of 30 to 60 s. The reflector's cap is meant for thousands of kubelets. kubeflap opens at most seven
// watches, and may miss flaps while it waits.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 0.5}
}

// sleep waits for the duration d. It returns false if the context is canceled first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// mustRelist reports whether a watch cannot resume at its resourceVersion. Denied access is temporary, because a server
// rejects users at startup until it has read the RBAC rules (plugin/pkg/auth/authorizer/rbac). A 404 is temporary,
// because a proxy responds with 404 if its server is down.
func mustRelist(err error) bool {
	switch reasonOf(err) {
	case event.ReasonExpired, event.ReasonOther:
		return true
	}
	return false
}

// listAndWatch lists the resource if necessary, and watches it. For the results, see watch.
func (f *follower) listAndWatch(ctx context.Context) (lived bool, err error) {
	if f.version == "" {
		if err := f.list(ctx); err != nil {
			return false, err
		}
	}
	return f.watch(ctx)
}

func (f *follower) list(ctx context.Context) (err error) {
	listed := func(object event.Object) { f.emit(event.Listed, object) }
	f.emit(event.Listing, nil)
	version, err := f.resource.List(ctx, false, listed)
	if reasonOf(err) == event.ReasonExpired {
		f.emit(event.Listing, nil)
		version, err = f.resource.List(ctx, true, listed)
	}
	if err != nil {
		return err //nolint:wrapcheck // the error names the request
	}
	f.version, f.unsynced, f.health.listed = version, true, true
	return nil
}

func (f *follower) emit(what event.Type, object event.Object) {
	f.sink(event.Event{Seen: time.Now(), Kind: f.resource.Kind, Type: what, Object: object})
}

// up is called when a watch works.
func (f *follower) up() {
	if f.unsynced {
		f.emit(event.Synced, nil)
	} else {
		f.emit(event.Up, nil)
	}
	f.unsynced = false
	f.health.up()
}

// down is called when a watch has ended or a request has failed. A list is complete even if its watch has failed, unless
// the watch was silent and the resource is listed again.
func (f *follower) down(err error) {
	reason := reasonOf(err)
	if f.unsynced && reason != event.ReasonSilent {
		f.unsynced = false
		f.emit(event.Synced, nil)
	}
	f.sink(event.Event{Seen: time.Now(), Kind: f.resource.Kind, Type: event.Down, Reason: reason})
	f.health.down(err)
}
