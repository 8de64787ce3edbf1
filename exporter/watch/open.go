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
	// peekTime is how long the first event of a continued watch is waited for before the watch counts as up. The server
	// answers with status 200 and reports an expired version in that event, at once (apiserver, cacher.Watch). Events are not
	// delayed.
	peekTime = 100 * time.Millisecond
	// minLife is how long a watch that works lasts at least, even if it brings nothing. Servers end watches after minutes.
	minLife = 4 * time.Second
	// resumeFor is how long a broken watch is reopened where it was, before it is listed again. A server remembers little more:
	// etcd is compacted every 5 minutes.
	resumeFor = 5 * time.Minute
	// suspectAfter is how long watches must end right after they were opened until they are suspect. A server that starts ends
	// some, too.
	suspectAfter = 10 * time.Second
	// maxSilentWatches is how many watches in a row may stay silent until the resource is listed again.
	maxSilentWatches = 2
	// noBookmarkTimeout is how many seconds a watch lasts if the server sends no bookmarks. That it ends on time is then the
	// sign of life.
	noBookmarkTimeout = 60
)

// probeTimeouts are how many seconds the first watches last when the watch is suspect. The server sends a bookmark shortly
// before a watch times out (apiserver, cacheWatcher.nextBookmarkTime), so a probe gets one soon. Otherwise the first one comes
// after a minute. The watches after the probes last as long as usual.
var probeTimeouts = [...]int64{5, 20}

var (
	errNoEvent = fmt.Errorf("the connection ended before an event came: %w", io.ErrUnexpectedEOF)
	errSilent  = errors.New("neither an event nor a bookmark came for " + maxSilence.String())
	errBehind  = errors.New("a direct read shows what the watch has not shown")
)

// reasonOf returns why a watch ended or a request failed.
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
		// So that there is a newer version for the bookmark. The delay is for watches that end at once.
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

// prepare waits if the last watch was too short, and sets the options of the next one. It returns an error if the reflector
// is to list first.
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
		// A server that is behind also has a list which is not older than the last version. Without a version it asks etcd
		// for the current state (apiserver, Cacher.getWatchCacheResourceVersion).
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
		return ctx.Err() //nolint:wrapcheck // nobody sees it
	case <-timer.C:
		return nil
	}
}

// open opens a watch. The answer may take as long as a watch may be silent: some proxies send no header before the body.
func (f *follower) open(ctx context.Context, cancel context.CancelFunc, options *metav1.ListOptions) (watch.Interface, error) {
	timeout := time.AfterFunc(maxSilence, cancel)
	// client-go would retry 10 times before it returns the error (rest.Request, Watch). The reflector has its own back-off.
	raw, err := f.resource.Request(options).MaxRetries(0).Watch(ctx)
	if timeout.Stop() {
		return raw, err //nolint:wrapcheck // openFailed looks at it
	}
	if err == nil {
		raw.Stop()
	}
	f.silent++
	f.health.markSuspect(errSilent)
	return nil, errSilent
}

// openFailed reports a watch that could not be opened, and returns the error for the reflector.
func (f *follower) openFailed(ctx context.Context, err error, options *metav1.ListOptions) error {
	if options.SendInitialEvents != nil {
		// Unless the reflector retries, it lists now, and the list shows whether the server works: it may just not have
		// WatchList. Silence is reported in any case.
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

// peek waits for the first event of a watch that continues after an outage, to see whether it works. If the version has
// expired, the reflector gets that event.
func (f *follower) peek(ctx context.Context, s *stream) error {
	limit := peekTime
	if f.health.isSuspect() {
		// It is expected to end soon again. If the reflector saw that, it would list (see shortWatch).
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

// ended reports how a watch ended.
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
		f.delayNext = true // this says nothing about the watch itself
	case !apiclient.IsExpired(cause):
		if cause == nil && (!s.listFirst || !f.shortSince.IsZero()) {
			cause = errNoEvent
		}
		f.delayNext = true
		f.noteShort(cause)
	}
	f.health.down(ctx, cause)
}

// noteShort notes a watch that ended right after it was opened.
func (f *follower) noteShort(cause error) {
	if f.shortSince.IsZero() {
		f.shortSince = time.Now()
	}
	if time.Since(f.shortSince) >= suspectAfter {
		f.health.markSuspect(cause)
	}
}

// probeEnded is called when a suspect watch ended on time and brought nothing. It stays down. But if all probes end like that,
// the server just sends no bookmarks.
func (f *follower) probeEnded(ctx context.Context, s *stream) {
	if s.listFirst {
		return
	}
	if f.probes++; f.probes == len(probeTimeouts) {
		f.noBookmarks, f.silent, f.probes = true, 0, 0
		f.health.trust(ctx)
	}
}

// requestProgress makes the server's watch cache ask etcd for its progress, after a delay. The cache does so before it answers
// a list that must be current (apiserver, watchCache.waitAndListConsistent, since v1.31). The list itself is not used.
func (f *follower) requestProgress(ctx context.Context, delay time.Duration) {
	if sleep(ctx, delay) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, apiclient.Timeout)
	defer cancel()
	if _, err := f.resource.CurrentVersion(ctx); err != nil {
		f.log.Debug("the watch delivers nothing, and a list failed", "err", err)
	}
}
