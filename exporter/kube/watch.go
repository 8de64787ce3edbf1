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
	s := &stream{Interface: raw, out: make(chan watch.Event, 1)}
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
// Why it ended stands in an event of type Error, which the reflector shows to nobody: to see it, and what else it
// is not to see, events are taken when the reflector asks for the channel, which it does before each of them. A
// goroutine between the two would have to be woken for each, and that costs more than all that is done with most.
type stream struct {
	watch.Interface
	// out has the event that the reflector takes next.
	out chan watch.Event
	// waiting are those that come before what the watch brings next.
	waiting []watch.Event
	ended   func(error)
	// listed takes the objects of a large list that comes in as a stream, nil when it is complete; later is
	// what happened in the meantime.
	listed func(runtime.Object)
	later  []watch.Event
	// over is set once out is closed.
	over  bool
	cause error
	stop  sync.Once
}

// ResultChan gives the next event, or the end, once there is one. A watch whose context ends comes to its end.
func (s *stream) ResultChan() <-chan watch.Event {
	if s.over || len(s.out) > 0 {
		return s.out
	}
	e, open := s.next()
	if !open {
		s.over = true
		close(s.out)
		return s.out
	}
	if e.Type == watch.Error && s.cause == nil {
		s.cause = apierrors.FromObject(e.Object)
	}
	s.out <- e
	return s.out
}

// Stop ends the watch.
func (s *stream) Stop() {
	s.stop.Do(func() {
		s.Interface.Stop()
		for range s.Interface.ResultChan() { // until nothing of it is left
		}
		s.ended(s.cause)
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
		s.waiting = append(s.waiting, first)
		if first.Type == watch.Error {
			return apierrors.FromObject(first.Object)
		}
	}
	return nil
}

// next is the next event for the reflector; false at the end.
func (s *stream) next() (watch.Event, bool) {
	if len(s.waiting) > 0 {
		e := s.waiting[0]
		s.waiting = s.waiting[1:]
		return e, true
	}
	for e := range s.Interface.ResultChan() {
		if s.listed != nil && s.takes(e) {
			continue
		}
		if endsList(e) {
			s.waiting, s.listed, s.later = s.later, nil, nil
		}
		return e, true
	}
	return watch.Event{}, false
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
