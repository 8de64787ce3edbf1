package kube

import (
	"context"
	"errors"
	"fmt"
	"sync"
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
)

var errNoAnswer = errors.New("the connection ended before an event came")

// watch opens the watch for the reflector, and follows its health.
func (f *follower) watch(ctx context.Context, options metav1.ListOptions) (watch.Interface, error) {
	options.Watch = true
	initial := options.SendInitialEvents != nil && *options.SendInitialEvents
	// No retries: client-go would try 10 times before anybody heard of it
	// (rest.Request, Watch), and the reflector has a back-off of its own.
	raw, err := f.get(&options).MaxRetries(0).Watch(ctx)
	if err != nil {
		return nil, f.openFailed(ctx, err, &options)
	}
	s := &stream{Interface: raw, out: make(chan watch.Event), done: make(chan struct{})}
	s.ended = func(err error) { f.health.down(ctx, err) }
	if !initial && f.health.isDown() {
		if err := s.look(ctx); err != nil && !isExpired(err) {
			raw.Stop()
			return nil, f.openFailed(ctx, err, &options)
		} else if err == nil {
			f.health.up(ctx)
		}
	}
	if initial && f.large {
		f.store.say(event.Listing)
		s.listed = func(object runtime.Object) { _ = f.store.pass(event.Listed, object) }
	}
	f.running.Go(s.relay)
	return s, nil
}

// openFailed reports a watch that could not be opened, and returns the error for the reflector.
func (f *follower) openFailed(ctx context.Context, err error, options *metav1.ListOptions) error {
	if options.SendInitialEvents != nil {
		// Two errors make the reflector try again (cache.Reflector, watchList); after any other,
		// as that of a server without WatchList, it lists, and then that is what fails or not.
		if utilnet.IsConnectionRefused(err) || apierrors.IsTooManyRequests(err) {
			f.health.down(ctx, err)
		}
		return err
	}
	f.health.down(ctx, err)
	if mayPass(err) && f.health.downFor() < resumeFor {
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

// stream is a watch that tells when and why it ended. The reflector calls Stop as soon as
// it has seen the end (cache.Reflector, handleAnyWatch), from the same goroutine that hands
// the events to the store: so the end is told in order, after the last event.
// Why it ended stands in an event of type Error, which the reflector shows to nobody:
// to see it the events have to be relayed.
type stream struct {
	watch.Interface
	out   chan watch.Event
	done  chan struct{}
	first *watch.Event
	ended func(error)
	// listed takes the objects of a large list that comes in as a stream, nil when it is complete; later is
	// what happened in the meantime.
	listed func(runtime.Object)
	later  []watch.Event
	stop   sync.Once

	lock  sync.Mutex
	cause error
}

// ResultChan gives the watch's events.
func (s *stream) ResultChan() <-chan watch.Event { return s.out }

// Stop ends the watch.
func (s *stream) Stop() {
	s.stop.Do(func() {
		close(s.done)
		s.Interface.Stop()
		for range s.out { // until relay is over: the end is told last
		}
		s.lock.Lock()
		cause := s.cause
		s.lock.Unlock()
		s.ended(cause)
	})
}

// look waits for a first event, but not for long, and returns an error if that, or the
// lack of it, says that the watch does not work.
func (s *stream) look(ctx context.Context) error {
	limit := time.NewTimer(settle)
	defer limit.Stop()
	select {
	case <-ctx.Done():
	case <-limit.C:
	case first, open := <-s.Interface.ResultChan():
		if !open {
			return errNoAnswer
		}
		s.first = &first
		if first.Type == watch.Error {
			return apierrors.FromObject(first.Object)
		}
	}
	return nil
}

// relay hands the events on until the watch ends or is stopped.
func (s *stream) relay() {
	defer close(s.out)
	if s.first != nil && !s.hand(*s.first) {
		return
	}
	for e := range s.Interface.ResultChan() {
		if s.listed != nil && s.takes(e) {
			continue
		}
		if !s.hand(e) {
			return
		}
		if endsList(e) && !s.catchUp() {
			return
		}
	}
}

// takes keeps from the reflector what comes before the end of a large list: the objects go on at once, and what
// happens to them waits until the list is complete. The reflector would gather them (cache.Reflector, watchList).
func (s *stream) takes(e watch.Event) bool {
	switch e.Type {
	case watch.Added:
		s.listed(e.Object)
	case watch.Modified, watch.Deleted:
		s.later = append(s.later, e)
	default:
		return false
	}
	return true
}

// endsList reports whether e is the bookmark that ends a list that came in as a stream.
func endsList(e watch.Event) bool {
	bookmark, ok := e.Object.(*item)
	return ok && e.Type == watch.Bookmark && bookmark.Annotations[metav1.InitialEventsAnnotationKey] == "true"
}

// catchUp hands on what happened while the list came in.
func (s *stream) catchUp() bool {
	later := s.later
	s.listed, s.later = nil, nil
	for _, e := range later {
		if !s.hand(e) {
			return false
		}
	}
	return true
}

// note keeps the first cause: stopping a watch may look like a broken connection.
func (s *stream) note(cause error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.cause == nil {
		s.cause = cause
	}
}

func (s *stream) hand(e watch.Event) bool {
	if e.Type == watch.Error {
		s.note(apierrors.FromObject(e.Object))
	}
	select {
	case s.out <- e:
		return true
	case <-s.done:
		return false
	}
}
