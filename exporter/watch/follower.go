package watch

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
)

// retryWatch is how long the reflector opens a watch again that broke with a server
// error or on the way, before it lists anew: as long as the API server's own
// reflectors do (apiserver, storage/cacher, MaxInternalErrorRetryDuration).
const retryWatch = 30 * time.Second

// retries is the back-off of list and watch: that of cache.Reflector, but never more than 3
// to 4.5 seconds, where it has 30 to 60. Those are for thousands of kubelets; here
// six requests are made, and each second of waiting is one in which flaps are not seen.
func retries() wait.Backoff {
	return wait.Backoff{Duration: 800 * time.Millisecond, Cap: 3 * time.Second, Steps: 10, Factor: 2, Jitter: 0.5}
}

// follower follows one resource: one reflector and what is around it.
type follower struct {
	endpoint
	store   *store
	log     *slog.Logger
	health  health
	running sync.WaitGroup
	// passing is full while a page of a list goes on.
	passing chan struct{}
	// current is the watch that runs, for Watcher.Reopen.
	current *atomic.Pointer[stream]

	// barren is since when watches have ended as soon as they were open, zero if the last one did not. waits: the next one waits, and
	// pause says for how long.
	barren time.Time
	waits  bool
	pause  wait.Backoff
	// silent counts the watches in a row that were silent from beginning to end; stalled is set if the last was a
	// list that came in as a stream.
	silent  int
	stalled bool
	// bookmarkless: the server ends watches when it should, and sends none of them a bookmark.
	bookmarkless bool
	// trials counts those in a row that were not believed, and ended in good order without having shown anything.
	trials int
}

func newFollower(e endpoint, w *Watcher) *follower {
	log := w.log.With("resource", e.kind.String())
	f := &follower{
		endpoint: e, log: log, passing: make(chan struct{}, 1), current: &w.streams[e.kind], pause: retries(),
		health: health{kind: e.kind, log: log, sink: w.sink, revived: w.version.revived},
	}
	f.store = &store{resource: e.resource, sink: w.sink, sign: f.health.sign, synced: f.health.synced}
	return f
}

// run follows the resource until the context ends or the right to is withdrawn,
// and returns when nothing of it is left.
func (f *follower) run(ctx context.Context) {
	ctx, f.health.withdraw = context.WithCancel(ctx)
	defer f.health.withdraw()
	logger, clock, backoff := klogTo(f.log), endingClock{ctx: ctx}, retries()
	reflector := cache.NewReflectorWithOptions(
		// A reflector uses WatchList unless its ListerWatcher says that it must not
		// (watchlist.DoesClientNotSupportWatchListSemantics): a plain ListWatch says nothing.
		&cache.ListWatch{ListWithContextFunc: f.list, WatchFuncWithContext: f.watch},
		&item{},
		f.store,
		cache.ReflectorOptions{Logger: &logger, Name: f.kind.String(), TypeDescription: f.kind.String(), Clock: clock, Backoff: &backoff},
	)
	reflector.WatchListPageSize = pageSize
	reflector.MaxInternalErrorRetryDuration = retryWatch
	// This is Reflector.RunWithContext, without its log line for each error, which only
	// informers can turn off.
	again := retries().DelayWithReset(clock, 2*time.Minute)
	_ = again.Until(klog.NewContext(ctx, logger), true, true, func(ctx context.Context) (bool, error) {
		if err := reflector.ListAndWatchWithContext(ctx); err != nil && ctx.Err() == nil && !errors.Is(err, errListAnew) {
			f.health.warn(err) // Down was said when it happened
		}
		return false, nil
	})
	f.running.Wait()
	f.passing <- struct{}{} // until the page that is going on has gone; after the context's end there is no other
	<-f.passing
}

// endingClock ends all waits with the context: while a WatchList is refused, the
// reflector waits up to a minute and heeds nothing else (cache.Reflector, watchList).
type endingClock struct {
	clock.RealClock
	ctx context.Context
}

// After is time.After, and over when the context is.
func (c endingClock) After(d time.Duration) <-chan time.Time {
	var once sync.Once
	over := make(chan time.Time, 1)
	end := func() { once.Do(func() { over <- time.Now() }) }
	forget := context.AfterFunc(c.ctx, end)
	time.AfterFunc(d, func() {
		forget()
		end()
	})
	return over
}
