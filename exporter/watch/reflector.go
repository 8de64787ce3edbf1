package watch

import (
	"context"
	"errors"
	"sync"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"

	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

// This file holds what relies on the inside of client-go's reflector (tools/cache/reflector.go). The comments name the
// functions that it relies on.

const (
	// pageSize is that of kubectl and of client-go's pager.
	pageSize = 500
	// retryInternal is how long the reflector reopens a watch that broke with an internal error, before it lists again: as
	// long as the API server's own reflectors do (apiserver, storage/cacher, MaxInternalErrorRetryDuration).
	retryInternal = 30 * time.Second
	// shortWatch is longer than a watch after which the reflector lists again: one that ended within a second and brought
	// nothing (handleAnyWatch, VeryShortWatchError).
	shortWatch = 1500 * time.Millisecond
)

// retries returns the back-off of list and watch: the reflector's own, but capped at 3 to 4.5 s instead of 30 to 60 s. Those
// are for thousands of kubelets. kubeflap makes seven requests, and it sees no flaps while it waits.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 0.5}
}

// runReflector lists and watches until the context ends.
func (f *follower) runReflector(ctx context.Context) {
	logger, clock, backoff := klogTo(f.log), endingClock{ctx: ctx}, retries()
	reflector := cache.NewReflectorWithOptions(
		// With a plain ListWatch the reflector uses WatchList (watchlist.DoesClientNotSupportWatchListSemantics).
		&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch},
		&apiclient.Item{}, // handleAnyWatch drops objects of any other Go type
		f.store,
		cache.ReflectorOptions{
			Logger: &logger, Name: f.resource.Kind.String(), TypeDescription: f.resource.Kind.String(), Clock: clock, Backoff: &backoff,
		},
	)
	reflector.WatchListPageSize = pageSize
	reflector.MaxInternalErrorRetryDuration = retryInternal
	// This is Reflector.RunWithContext without its log line for each error, which only informers can turn off.
	delay := retries().DelayWithReset(clock, 2*time.Minute)
	_ = delay.Until(klog.NewContext(ctx, logger), true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errRelist) {
			f.health.warn(err) // the Down was emitted before
		}
		return false, nil
	})
}

// These errors of WatchFunc select what the reflector does next.
var (
	// errRelist makes it list: isWatchErrorRetriable knows no retry for it.
	errRelist = errors.New("the watch stays silent: it is listed again")
	// errListInPages makes it list in pages instead of as a stream (watchList).
	errListInPages = errors.New("the list as a stream has stalled")
)

// reflectorRetries reports whether the reflector retries after err by itself (isWatchErrorRetriable).
func reflectorRetries(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// resumable makes the reflector reopen the watch where it was, by looking like a refused connection. After a timeout or a 503
// the reflector would list (isWatchErrorRetriable). But a list hides what happened in the gap, and the server may still know.
type resumable struct{ error }

// Unwrap returns the cause, and the error that isWatchErrorRetriable looks for.
func (r resumable) Unwrap() []error { return []error{syscall.ECONNREFUSED, r.error} }

// endingClock ends all waits with the context. While the server refuses a streamed list, the reflector waits without regard
// to the context (watchList).
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After is time.After, but fires at the end of the context at the latest.
func (c endingClock) After(d time.Duration) <-chan time.Time {
	var once sync.Once
	fired := make(chan time.Time, 1)
	fire := func() { once.Do(func() { fired <- time.Now() }) }
	stop := context.AfterFunc(c.ctx, fire)
	time.AfterFunc(d, func() {
		stop()
		fire()
	})
	return fired
}

// endsInitialList reports whether e is the bookmark that ends a streamed list (handleAnyWatch).
func endsInitialList(e watch.Event) bool {
	bookmark, ok := e.Object.(*apiclient.Item)
	return ok && e.Type == watch.Bookmark && bookmark.EndsInitialList()
}
