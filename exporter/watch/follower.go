package watch

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

const (
	// recheck is the interval between checks of a resource that cannot be watched.
	recheck = time.Minute
	// The permission counts as withdrawn if all requests are denied for withdrawnAfter. A shorter time proves nothing,
	// because a server denies all requests at startup until it has read the RBAC rules.
	withdrawnAfter = time.Minute
)

// reasonOf returns the reason why a watch ended or a request failed.
func reasonOf(err error) event.Reason {
	if errors.Is(err, errSilent) || errors.Is(err, errBehind) {
		return event.ReasonSilent
	}
	return apiclient.Reason(err)
}

// follower lists and watches one resource. It logs why the watch fails, once for each reason, and when it works again.
type follower struct {
	resource apiclient.Resource
	log      *slog.Logger
	watcher  *Watcher
	// A value in the channel behind means that the watch must end, because it lags behind etcd. The channel is nil
	// unless the resource is the node Leases.
	behind chan struct{}

	// version is the resourceVersion at which the next watch starts. If it is empty, the resource is listed first.
	version string
	// listed is set if the resource was ever listed. unsynced is set after a list, until a watch works.
	listed, unsynced bool
	// peekTime is how long the next watch must stay open until it counts as working, unless an event arrives earlier.
	peekTime time.Duration

	// downSince is the time at which the watch went down. It is zero while the watch works. logged holds the reasons that
	// have been logged since then.
	downSince time.Time
	logged    []event.Reason
	// refusedSince is the time at which the current series of denied requests began. It is zero if the last request was
	// not denied.
	refusedSince time.Time
}

func (w *Watcher) newFollower(resource apiclient.Resource) *follower {
	f := &follower{resource: resource, log: w.log.With("resource", resource.Kind.String()), watcher: w, peekTime: peekTime}
	if resource.Kind == event.KindLease {
		f.behind = w.behind
	}
	return f
}

// run watches the resource until the context is canceled, whenever access is granted. It checks a denied permission every
// minute. The argument is the result of the first check.
func (f *follower) run(ctx context.Context, denied error) {
	for ctx.Err() == nil {
		if reason := reasonOf(denied); f.isRefusal(reason) {
			f.emit(event.Unavailable, nil, reason)
			f.log.Warn("cannot watch, retrying every minute", "cause", denied)
			for denied != nil && sleep(ctx, recheck) {
				denied = check(ctx, f.resource)
			}
			if ctx.Err() != nil {
				return
			}
			f.log.Info("can watch now")
		}
		f.follow(ctx)
		denied = check(ctx, f.resource)
	}
}

// isRefusal reports whether the permission or the resource is missing. A 404 for a resource that was listed before is a
// fault of the server or a proxy.
func (f *follower) isRefusal(reason event.Reason) bool {
	return reason == event.ReasonForbidden || reason == event.ReasonAbsent && !f.listed
}

// follow lists and watches the resource until the context is canceled, or until all requests were denied for
// withdrawnAfter. A broken watch resumes at its last resourceVersion. A list contains only the current state, not the
// changes since the watch broke.
func (f *follower) follow(ctx context.Context) {
	backoff := retries()
	for {
		resumed, lived, err := f.version != "", false, error(nil)
		if !resumed {
			err = f.list(ctx)
		}
		if err == nil {
			lived, err = f.watch(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		f.down(err)
		withdrawn := !f.refusedSince.IsZero() && time.Since(f.refusedSince) > withdrawnAfter
		if withdrawn || mustRelist(err) {
			f.version = ""
		}
		switch {
		case withdrawn:
			f.refusedSince = time.Time{}
			return
		case lived:
			backoff = retries()
		case resumed && f.version == "": // list immediately
		case !sleep(ctx, backoff.Step()):
			return
		}
	}
}

// retries returns the back-off for lists and watches. It is the back-off of client-go's reflector, but with a cap of 3
// to 4.5 s instead of 30 to 60 s. The reflector's cap is meant for thousands of kubelets. kubeflap opens at most nine
// watches, and may miss flaps while it waits.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 0.5}
}

// sleep waits for the duration d. It returns false if the context is canceled first.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-ctx.Done():
		return false
	case <-time.After(d):
		return true
	}
}

func (f *follower) list(ctx context.Context) (err error) {
	listed := func(object event.Object) { f.emit(event.Listed, object, "") }
	f.emit(event.Listing, nil, "")
	version, err := f.resource.List(ctx, false, listed)
	if reasonOf(err) == event.ReasonExpired {
		f.emit(event.Listing, nil, "")
		version, err = f.resource.List(ctx, true, listed)
	}
	if err != nil {
		return err //nolint:wrapcheck // the error names the request
	}
	f.version, f.listed, f.unsynced = version, true, true
	return nil
}

func (f *follower) emit(what event.Type, object event.Object, reason event.Reason) {
	f.watcher.emit(f.resource.Kind, what, object, reason)
}

// up is called when a watch works.
func (f *follower) up() {
	what := event.Up
	if f.unsynced {
		what = event.Synced
	}
	f.emit(what, nil, "")
	if len(f.logged) > 0 {
		f.log.Info("the watch is working again", "down", time.Since(f.downSince).Round(time.Millisecond))
	}
	f.unsynced, f.downSince, f.refusedSince, f.logged = false, time.Time{}, time.Time{}, nil
}

// down is called when a watch has ended or a request has failed. err is nil if the server ended the watch normally. A
// list is complete even if its watch has failed, unless the watch was silent and the resource is listed again.
func (f *follower) down(err error) {
	reason := reasonOf(err)
	if f.unsynced && reason != event.ReasonSilent {
		f.unsynced = false
		f.emit(event.Synced, nil, "")
	}
	f.emit(event.Down, nil, reason)
	if f.downSince.IsZero() {
		f.downSince = time.Now()
	}
	if err != nil && !slices.Contains(f.logged, reason) {
		f.logged = append(f.logged, reason)
		f.log.Warn("the watch failed, retrying", "cause", reason, "err", err)
	}
	if !f.isRefusal(reason) {
		f.refusedSince = time.Time{}
	} else if f.refusedSince.IsZero() {
		f.refusedSince = time.Now()
	}
}
