package watch

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kubeflap/kubeflap/exporter/event"
)

const (
	// settle is how long a watch that goes on is looked at before it counts as up. The
	// server says "too old resource version" not with the answer's status but with a first
	// event (apiserver, cacher.Watch), and that comes at once. Events are not delayed.
	settle = 100 * time.Millisecond
	// resumeFor is how long a watch is tried again from where it was, rather than listed
	// anew. A server remembers little more (etcd is compacted every 5 minutes).
	resumeFor = 5 * time.Minute
	// soon is within how much time the end of a watch that brought nothing says that it does not work: servers
	// that mean to end a watch do it after minutes.
	soon = 4 * time.Second
)

// trials are for how many seconds a watch is asked for that is not believed, one after the other: shortly before its end it gets a bookmark
// (apiserver, cacheWatcher.nextBookmarkTime), which else would take a minute. After them it is asked for as long as ever.
var trials = [...]int64{5, 20}

var (
	errNoAnswer = errors.New("the connection ended before an event came")
	errSilent   = errors.New("neither an event nor a bookmark came for " + silence.String())
	errBehind   = errors.New("a direct read shows what the watch has not shown")
	// errListAnew makes the reflector list: it knows no retry for it (cache.Reflector, isWatchErrorRetriable).
	errListAnew = errors.New("the watch stays silent: it is listed anew")
	// errPages makes it list in pages and not as a stream (cache.Reflector, watchList).
	errPages = errors.New("the list as a stream has stalled")
)

// watch opens the watch for the reflector, and follows its health.
func (f *follower) watch(parent context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	if err := f.prepare(parent, &options, initial); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(parent)
	raw, err := f.open(ctx, cancel, &options)
	if err != nil {
		cancel()
		return nil, f.openFailed(parent, err, &options)
	}
	s := newStream(raw, &options)
	s.initial, s.nudge = initial, func() { f.running.Go(func() { f.askForProgress(ctx) }) }
	if s.trial = f.health.isDoubted(); s.trial {
		// So that there is something newer for a bookmark to tell; not if it ends at once.
		f.running.Go(func() {
			if sleep(ctx, time.Second) == nil {
				f.askForProgress(ctx)
			}
		})
	}
	s.ended = func(cause error) {
		cancel()
		f.current.CompareAndSwap(s, nil)
		f.ended(parent, s, cause)
	}
	if !initial && f.health.isDown() {
		if err := s.look(parent, f.lookFor()); err != nil && !isExpired(err) {
			s.discard()
			cancel()
			f.noteBarren(err)
			return nil, f.openFailed(parent, err, &options)
		} else if err == nil && !f.health.isDoubted() {
			f.health.up(parent)
		}
	}
	if initial && f.large {
		f.store.say(event.Listing)
		s.listed = func(object runtime.Object) { _ = f.store.pass(event.Listed, object) }
	}
	f.current.Store(s)
	f.running.Go(s.relay)
	return s, nil
}

// prepare waits before a watch is opened, if the last one did not last, and returns an error if
// there is something better to do than to open it.
func (f *follower) prepare(ctx context.Context, options *metav1.ListOptions, initial bool) error {
	if f.waits {
		f.waits = false
		if err := sleep(ctx, f.pause.Step()); err != nil {
			return err
		}
	}
	switch {
	case initial && f.stalled:
		f.stalled = false
		return errPages
	case initial && f.health.isDoubted():
		// What is not older than the last version, a server that is behind has too. For what is newest it asks etcd
		// (apiserver, Cacher.getWatchCacheResourceVersion).
		options.ResourceVersion = ""
	case !initial && f.health.isDoubted() && (f.silent > 2 || f.health.behindFor() >= resumeFor):
		f.silent = 0
		return errListAnew
	case !initial && f.health.isDoubted() && f.trials < len(trials):
		options.TimeoutSeconds = &trials[f.trials]
	case !initial && f.bookmarkless:
		options.TimeoutSeconds = new(int64(endAfter))
	}
	return nil
}

// endAfter is for how many seconds a watch is asked for where the server sends no bookmarks: that it ends it then is the sign of life.
const endAfter = 60

// open opens a watch. Some proxies hold the answer's head back until there is a body: so it may take as long as
// a watch may be silent.
func (f *follower) open(ctx context.Context, cancel context.CancelFunc, options *metav1.ListOptions) (watch.Interface, error) {
	late := time.AfterFunc(silence, cancel)
	// No retries: client-go would try 10 times before anybody heard of it
	// (rest.Request, Watch), and the reflector has a back-off of its own.
	raw, err := f.get(options).MaxRetries(0).Watch(ctx)
	if late.Stop() {
		return raw, err //nolint:wrapcheck // openFailed looks at it
	}
	if err == nil {
		raw.Stop()
	}
	f.silent++
	f.health.doubted(errSilent)
	return nil, errSilent
}

// lookFor is how long a watch that goes on is looked at. One that is not believed is expected to end soon again; until
// then the reflector does not get it, for it would list anew after an end within a second (cache.VeryShortWatchError).
func (f *follower) lookFor() time.Duration {
	if f.health.isDoubted() {
		return soon
	}
	return settle
}

// ended reports how a watch that had been opened ended.
func (f *follower) ended(ctx context.Context, s *stream, cause error) {
	if s.fruitful && !f.health.isDoubted() {
		f.silent, f.trials, f.pause = 0, 0, retries()
	}
	if s.fruitful || time.Since(s.opened) >= soon {
		f.barren = time.Time{}
	}
	f.bookmarkless = f.bookmarkless && !s.bookmarked
	switch {
	case causeOf(cause) == event.ReasonSilent:
		f.silent++
		f.stalled = s.initial && !s.complete
		f.health.doubted(cause)
	case f.health.isDoubted() && cause == nil && (s.complete || time.Since(s.opened) >= soon):
		f.trialOver(ctx, s)
		return
	case s.fruitful || time.Since(s.opened) >= soon:
	case s.initial && !s.complete:
		f.waits = true // a list that breaks off is no news of the watch
	case !isExpired(cause):
		if cause == nil && (!s.initial || !f.barren.IsZero()) {
			cause = errNoAnswer
		}
		f.waits = true
		f.noteBarren(cause)
	}
	f.health.down(ctx, cause)
}

// doubtAfter is for how long watches may end as soon as they are open until they are not believed: a server that starts does that, too.
const doubtAfter = 10 * time.Second

func (f *follower) noteBarren(cause error) {
	if f.barren.IsZero() {
		f.barren = time.Now()
	}
	if time.Since(f.barren) >= doubtAfter {
		f.health.doubted(cause)
	}
}

// trialOver: a watch that is not believed has ended when it should, and has shown nothing. It is down for what it was, unless the server
// just sends no bookmarks: then all trials end like that.
func (f *follower) trialOver(ctx context.Context, s *stream) {
	if s.initial {
		return
	}
	if f.trials++; f.trials == len(trials) {
		f.bookmarkless, f.silent, f.trials = true, 0, 0
		f.health.believe(ctx)
	}
}

// askForProgress makes the server's watch cache ask etcd how far it is, if it has not been told for long: before it answers a
// list that has to be current it does (apiserver, watchCache.waitAndListConsistent, since v1.31). The list itself is of no use.
func (f *follower) askForProgress(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	if _, err := tryList(ctx, f.endpoint); err != nil {
		f.log.Debug("the watch is quiet, and the server does not say how far it is", "err", err)
	}
}

// openFailed reports a watch that could not be opened, and returns the error for the reflector.
func (f *follower) openFailed(ctx context.Context, err error, options *metav1.ListOptions) error {
	if options.SendInitialEvents != nil {
		// Two errors make the reflector try again (cache.Reflector, watchList); after any other,
		// as that of a server without WatchList, it lists, and then that is what fails or not. What was not answered at all is told too.
		if utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err) || errors.Is(err, errSilent) {
			f.health.down(ctx, err)
		}
		return err
	}
	f.health.down(ctx, err)
	if mayPass(err) && f.health.behindFor() < resumeFor {
		return resumable{err}
	}
	return fmt.Errorf("watch %s: %w", f.kind, err)
}

// resumable makes the reflector try again from where the watch was. By itself it does so
// only if the connection was refused or the server said 429 (cache.Reflector,
// isWatchErrorRetriable), and lists anew after a time-out or a 503: but a list hides
// what happened in the gap, and the server may well still know.
type resumable struct{ error }

// Unwrap gives the cause, and what the reflector looks for.
func (r resumable) Unwrap() []error { return []error{syscall.ECONNREFUSED, r.error} }
