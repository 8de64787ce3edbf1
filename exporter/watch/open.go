package watch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/watch/apiclient"
)

const (
	// peekTime is the maximum time to wait for the first event of a resumed watch. After this time, the watch is
	// reported as up. If the resourceVersion has expired, the server responds with status 200, but immediately sends an
	// error event (apiserver, cacher.Watch).
	peekTime = 100 * time.Millisecond
	// A watch that delivers nothing counts as working if it lasts at least minLife. Servers end working watches only
	// after minutes.
	minLife = 4 * time.Second
	// A broken watch resumes at its last resourceVersion if the last known state of the resource is younger than
	// resumeFor. Otherwise, the resource is listed again, because etcd is compacted every 5 minutes.
	resumeFor = 5 * time.Minute
	// If a watch keeps ending right after it was opened, it becomes suspect after suspectAfter. The delay is needed
	// because a server that is starting also ends some watches early.
	suspectAfter = 10 * time.Second
	// maxSilentWatches is the maximum number of consecutive silent watches before the resource is listed again.
	maxSilentWatches = 2
	// noBookmarkTimeout is the timeout of a watch, in seconds, if the server sends no bookmarks. Such a watch counts as
	// working if the server ends it on time.
	noBookmarkTimeout = 60
)

// The first watches after a watch became suspect are called probes. probeTimeouts are their timeouts, in seconds. The
// server sends a bookmark shortly before a watch times out (apiserver, cacheWatcher.nextBookmarkTime), so a probe
// receives a bookmark within seconds. A watch with the normal timeout would receive its first bookmark after a minute.
var probeTimeouts = [...]int64{5, 20}

var (
	errNoEvent = fmt.Errorf("the connection ended before an event arrived: %w", io.ErrUnexpectedEOF)
	errSilent  = errors.New("received neither an event nor a bookmark for " + maxSilence.String())
	errBehind  = errors.New("a direct read returned a newer state than the watch")
)

// reasonOf returns the reason why a watch ended or a request failed.
func reasonOf(err error) event.Reason {
	if errors.Is(err, errSilent) || errors.Is(err, errBehind) {
		return event.ReasonSilent
	}
	return apiclient.Reason(err)
}

// watch opens a watch for the reflector.
func (f *follower) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	listFirst := options.SendInitialEvents != nil && *options.SendInitialEvents
	if err := f.prepare(ctx, &options, listFirst); err != nil {
		return nil, err
	}
	streamCtx, cancel := context.WithCancel(ctx)
	raw, err := f.open(streamCtx, cancel, &options)
	if err != nil {
		cancel()
		return nil, f.openFailed(ctx, err, &options)
	}
	s := newStream(raw, &options)
	s.listFirst, s.probe = listFirst, f.health.isSuspect()
	s.onQuiet = func() { f.running.Go(func() { f.requestProgress(streamCtx, 0) }) }
	s.onEnd = func(cause error) {
		cancel()
		f.current.CompareAndSwap(s, nil)
		f.ended(ctx, s, cause)
	}
	if s.probe {
		// requestProgress makes the server send a bookmark (see maxSilence). The delay avoids the request for watches
		// that end immediately.
		f.running.Go(func() { f.requestProgress(streamCtx, time.Second) })
	}
	if !listFirst && f.health.isDown() {
		if err := f.peek(ctx, s); err != nil {
			cancel()
			return nil, f.openFailed(ctx, err, &options)
		}
	}
	if listFirst && f.resource.Large {
		f.store.emit(event.Listing)
		s.onListed = func(object runtime.Object) { f.store.pass(event.Listed, object) }
	}
	f.current.Store(s)
	f.running.Go(s.relay)
	return s, nil
}

// prepare waits if the previous watch ended too early, and sets the options of the next watch. It returns an error if
// the reflector must list instead of watching.
func (f *follower) prepare(ctx context.Context, options *metav1.ListOptions, listFirst bool) error {
	if f.delayNext {
		f.delayNext = false
		if err := sleep(ctx, f.backoff.Step()); err != nil {
			return err
		}
	}
	suspect := f.health.isSuspect()
	switch {
	case listFirst && f.listStalled:
		f.listStalled = false
		return errListInPages
	case listFirst && suspect:
		// If the request contains a resourceVersion, a lagging server may return an outdated list. Without a
		// resourceVersion, the server asks etcd for the current version (apiserver,
		// Cacher.getWatchCacheResourceVersion).
		options.ResourceVersion = ""
	case !listFirst && suspect && (f.silent > maxSilentWatches || f.health.staleFor() >= resumeFor):
		f.silent = 0
		return errRelist
	case !listFirst && suspect && f.probes < len(probeTimeouts):
		options.TimeoutSeconds = &probeTimeouts[f.probes]
	case !listFirst && f.noBookmarks:
		options.TimeoutSeconds = new(int64(noBookmarkTimeout))
	}
	return nil
}

func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err() //nolint:wrapcheck // the caller drops the error
	case <-timer.C:
		return nil
	}
}

// open opens a watch. It waits up to maxSilence for the response, because some proxies send the header only with the
// body.
func (f *follower) open(ctx context.Context, cancel context.CancelFunc, options *metav1.ListOptions) (watch.Interface, error) {
	timeout := time.AfterFunc(maxSilence, cancel)
	// By default, client-go retries 10 times before it returns an error (rest.Request, Watch). The reflector has its
	// own back-off.
	raw, err := f.resource.Request(options).MaxRetries(0).Watch(ctx)
	if timeout.Stop() {
		return raw, err //nolint:wrapcheck // openFailed inspects the error
	}
	if err == nil {
		raw.Stop()
	}
	f.silent++
	f.health.markSuspect(errSilent)
	return nil, errSilent
}

// openFailed reports that a watch could not be opened. It returns the error for the reflector.
func (f *follower) openFailed(ctx context.Context, err error, options *metav1.ListOptions) error {
	if options.SendInitialEvents != nil {
		if apiclient.IsExpired(err) {
			// The reflector requests the list again at once (cache.Reflector, watchList). That is right if the request
			// contained a resourceVersion. If a proxy answers every request with 410, it would never stop.
			f.delayNext = options.ResourceVersion == ""
			f.health.down(ctx, err)
		}
		// Report only silent servers and errors that the reflector retries. Any other error may only mean that the
		// server does not support WatchList, in which case the reflector lists in pages.
		if reflectorRetries(err) || errors.Is(err, errSilent) {
			f.health.down(ctx, err)
		}
		return err
	}
	f.health.down(ctx, err)
	if apiclient.IsTemporary(err) && f.health.staleFor() < resumeFor {
		return resumable{err}
	}
	return fmt.Errorf("watch %s: %w", f.resource.Kind, err)
}

// peek waits for the first event of a resumed watch. It returns an error if the watch has failed. It returns nil for an
// expired resourceVersion, which the reflector handles.
func (f *follower) peek(ctx context.Context, s *stream) error {
	limit := peekTime
	if f.health.isSuspect() {
		// A suspect watch will probably end early again. Wait longer, because the reflector lists again if it receives
		// a watch that ends early (see shortWatch).
		limit = minLife
	}
	err := s.peek(ctx, limit)
	switch {
	case err == nil && !f.health.isSuspect():
		f.health.up(ctx)
	case err != nil && !apiclient.IsExpired(err):
		s.discard()
		f.noteShort(err)
		return err
	}
	return nil
}

// ended is called when a watch has ended. It records how the watch ended, and reports the end.
func (f *follower) ended(ctx context.Context, s *stream, cause error) {
	suspect, lasted := f.health.isSuspect(), time.Since(s.opened) >= minLife
	if s.delivered && !suspect {
		f.silent, f.probes, f.backoff = 0, 0, retries()
	}
	if s.delivered || lasted {
		f.shortSince = time.Time{}
	}
	f.noBookmarks = f.noBookmarks && !s.bookmarked
	switch {
	case reasonOf(cause) == event.ReasonSilent:
		f.silent++
		f.listStalled = s.listFirst && !s.listComplete
		f.health.markSuspect(cause)
	case suspect && cause == nil && (s.listComplete || lasted):
		f.probeEnded(ctx, s)
		return
	case s.delivered || lasted:
	case s.listFirst && !s.listComplete:
		f.delayNext = true // an incomplete list does not count as a short watch
	case !apiclient.IsExpired(cause):
		if cause == nil && (!s.listFirst || !f.shortSince.IsZero()) {
			cause = errNoEvent
		}
		f.delayNext = true
		f.noteShort(cause)
	}
	f.health.down(ctx, cause)
}

// noteShort records a watch that ended right after it was opened.
func (f *follower) noteShort(cause error) {
	if f.shortSince.IsZero() {
		f.shortSince = time.Now()
	}
	if time.Since(f.shortSince) >= suspectAfter {
		f.health.markSuspect(cause)
	}
}

// probeEnded records that a suspect watch ended normally but delivered nothing. If all probes end this way, kubeflap
// concludes that the server sends no bookmarks. The watch then counts as working.
func (f *follower) probeEnded(ctx context.Context, s *stream) {
	if s.listFirst {
		return
	}
	if f.probes++; f.probes == len(probeTimeouts) {
		f.noBookmarks, f.silent, f.probes = true, 0, 0
		f.health.trust(ctx)
	}
}

// requestProgress waits for the given delay, and then requests a list that must be current. To serve this list, the
// server's watch cache requests a progress notification from etcd (apiserver, watchCache.waitAndListConsistent, since
// v1.31). The list itself is not used.
func (f *follower) requestProgress(ctx context.Context, delay time.Duration) {
	if sleep(ctx, delay) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, apiclient.Timeout)
	defer cancel()
	if _, err := f.resource.CurrentVersion(ctx); err != nil {
		f.log.Debug("the watch is silent and listing failed", "err", err)
	}
}
