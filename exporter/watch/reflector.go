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

// This file depends on internals of client-go's reflector (tools/cache/reflector.go).

const (
	// pageSize is the page size of kubectl and of client-go's pager.
	pageSize = 500
	// retryInternal is how long the reflector keeps reopening a watch after internal server errors before it lists
	// again. The API server's own reflectors use the same value (apiserver, storage/cacher,
	// MaxInternalErrorRetryDuration).
	retryInternal = 30 * time.Second
	// If a suspect watch starts with a list, it stays open for shortWatch after the list. shortWatch must exceed one
	// second. If a watch ends within one second without an event, the reflector lists again (handleAnyWatch,
	// VeryShortWatchError).
	shortWatch = 1500 * time.Millisecond
)

// retries returns the back-off for lists and watches. It is the reflector's own back-off, but with a cap of 3 to 4.5 s
// instead of 30 to 60 s. The reflector's cap is meant for thousands of kubelets. kubeflap opens at most seven watches,
// and may miss flaps while it waits.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 0.5}
}

// runReflector lists and watches until the context is canceled.
func (f *follower) runReflector(ctx context.Context) {
	logger, clock, backoff := klogTo(f.log), endingClock{ctx: ctx}, retries()
	reflector := cache.NewReflectorWithOptions(
		// With a cache.ListWatch, the reflector uses WatchList (watchlist.DoesClientNotSupportWatchListSemantics).
		&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch},
		&apiclient.Item{}, // handleAnyWatch drops objects of other Go types
		f.store,
		cache.ReflectorOptions{
			Logger: &logger, Name: f.resource.Kind.String(), TypeDescription: f.resource.Kind.String(), Clock: clock, Backoff: &backoff,
		},
	)
	reflector.WatchListPageSize = pageSize
	reflector.MaxInternalErrorRetryDuration = retryInternal
	// This loop replaces Reflector.RunWithContext, which logs each error.
	delay := retries().DelayWithReset(clock, 2*time.Minute)
	_ = delay.Until(klog.NewContext(ctx, logger), true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errRelist) {
			f.health.warn(err) // the Down event was already emitted
		}
		return false, nil
	})
}

// follower.watch returns these errors to make the reflector list.
var (
	// errRelist makes the reflector list the resource again, because isWatchErrorRetriable returns false for this
	// error.
	errRelist = errors.New("the watch received nothing for too long: listing again")
	// errListInPages makes the reflector list in pages instead of streaming the list (watchList).
	errListInPages = errors.New("the streaming list has stalled")
)

// reflectorRetries reports whether the reflector itself retries after err (isWatchErrorRetriable).
func reflectorRetries(err error) bool {
	return utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err)
}

// resumable makes an error look like a refused connection. The reflector then resumes the watch at the same
// resourceVersion. After a timeout or a 503, it would list instead (isWatchErrorRetriable). A list contains only the
// current state, not the changes since the watch broke.
type resumable struct{ error }

// Unwrap returns the original error and ECONNREFUSED, which isWatchErrorRetriable looks for.
func (r resumable) Unwrap() []error { return []error{syscall.ECONNREFUSED, r.error} }

// endingClock ends all waits when the context is canceled. By default, the reflector waits without checking the context
// before it requests a streamed list again (watchList).
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
