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

// This file depends on internals of client-go's reflector (tools/cache/reflector.go). The comments name the functions.

const (
	// pageSize is the page size of kubectl and of client-go's pager.
	pageSize = 500
	// retryInternal is the time for which the reflector reopens a watch after an internal error before it lists
	// again. The API server's own reflectors use the same value (apiserver, storage/cacher,
	// MaxInternalErrorRetryDuration).
	retryInternal = 30 * time.Second
	// shortWatch is slightly longer than one second. If a watch ends within one second without an event, the reflector
	// lists again (handleAnyWatch, VeryShortWatchError).
	shortWatch = 1500 * time.Millisecond
)

// retries returns the back-off for lists and watches. It equals the reflector's own back-off, but is capped at 3 to 4.5
// s instead of 30 to 60 s. The reflector's cap is meant for thousands of kubelets, whereas kubeflap sends only seven
// requests, and misses flaps while it waits.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 0.5}
}

// runReflector lists and watches until the context is canceled.
func (f *follower) runReflector(ctx context.Context) {
	logger, clock, backoff := klogTo(f.log), endingClock{ctx: ctx}, retries()
	reflector := cache.NewReflectorWithOptions(
		// A plain ListWatch makes the reflector use WatchList (watchlist.DoesClientNotSupportWatchListSemantics).
		&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch},
		&apiclient.Item{}, // handleAnyWatch drops objects of other Go types
		f.store,
		cache.ReflectorOptions{
			Logger: &logger, Name: f.resource.Kind.String(), TypeDescription: f.resource.Kind.String(), Clock: clock, Backoff: &backoff,
		},
	)
	reflector.WatchListPageSize = pageSize
	reflector.MaxInternalErrorRetryDuration = retryInternal
	// This loop replaces Reflector.RunWithContext, which logs each error. Only informers can disable these log lines.
	delay := retries().DelayWithReset(clock, 2*time.Minute)
	_ = delay.Until(klog.NewContext(ctx, logger), true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errRelist) {
			f.health.warn(err) // the Down event was already emitted
		}
		return false, nil
	})
}

// The method watch returns these errors to select the reflector's next step.
var (
	// errRelist makes the reflector list, because isWatchErrorRetriable returns false for it.
	errRelist = errors.New("the watch received nothing for too long: listing again")
	// errListInPages makes the reflector list in pages instead of streaming the list (watchList).
	errListInPages = errors.New("the streaming list has stalled")
)

// reflectorRetries reports whether the reflector itself retries after err (isWatchErrorRetriable).
func reflectorRetries(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// resumable makes the reflector resume the watch at the same version, because the error looks like a refused
// connection. After a timeout or a 503, the reflector would list (isWatchErrorRetriable). A list would hide the changes
// since the watch broke, although the server may still know these changes.
type resumable struct{ error }

// Unwrap returns the error that isWatchErrorRetriable looks for, and the cause.
func (r resumable) Unwrap() []error { return []error{syscall.ECONNREFUSED, r.error} }

// endingClock ends all waits when the context is canceled. While the server rejects a streamed list, the reflector
// waits without checking the context (watchList).
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After is like time.After, but also fires when the context is canceled.
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
