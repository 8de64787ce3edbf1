package watch

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// silence is how long a watch may bring nothing. Servers send each watch a bookmark about every minute (apiserver,
	// cacher.defaultBookmarkFrequency; a reflector always asks for them), plus up to 3 s for the buckets and the timer
	// that they go by; half a minute more is for a server that is slow.
	//
	// A healthy server leaves bookmarks out in one case: it sends none that is not newer than where the watch began
	// (cacheWatcher.process), and what is newest in a resource's watch cache moves only with the resource's own events, and
	// with what etcd says of its progress: every 5 s if etcd was set up by kubeadm, but every 10 minutes by default, or when
	// the watch cache asks. It asks before it answers a list that has to be current. So that is what a watch without a
	// bookmark is helped by after nudgeAfter ticks, before the minute is over; from the first bookmark on they come each minute.
	silence = 90 * time.Second
	// ticks are the steps in which silence is counted.
	ticks      = 6
	nudgeAfter = 3
	// overtime is how much longer a watch may go on than was asked for. Servers end it by their own clock
	// (apiserver, handlers.serveWatchHandler), on time.
	overtime = 30 * time.Second
	// afterList is for how long a watch goes on after its list if it is to be ended. What ends within a second is listed anew
	// (cache.VeryShortWatchError).
	afterList = 1500 * time.Millisecond
)

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
	// behind is full when the watch is to be ended because it is behind.
	behind chan struct{}

	// opened is when the server answered; overdue fires if the server does not end the watch when it should.
	opened  time.Time
	overdue *time.Timer
	// tick counts quiet, the time in which nothing came. It counts only while the process runs: after it was stopped
	// for minutes, what has come in the meantime is taken first. nudge is called once if it is quiet for long.
	tick  *time.Ticker
	quiet int
	// trial: the watch is not believed. One that begins with a list is ended after that, for another that proves itself sooner.
	trial bool
	nudge func()
	// initial: a list comes first, which is complete or not. bookmarked: the server sends bookmarks on this watch.
	// fruitful: an event or a bookmark has come on it, after the list if there is one.
	initial, complete, bookmarked, fruitful bool

	// listed takes the objects of a large list that comes in as a stream, nil when it is complete; later is
	// what happened in the meantime.
	listed func(runtime.Object)
	later  []watch.Event
	stop   sync.Once

	lock  sync.Mutex
	cause error
}

func newStream(raw watch.Interface, options *metav1.ListOptions) *stream {
	asked := time.Duration(*options.TimeoutSeconds) * time.Second // by a reflector, always
	return &stream{
		Interface: raw, out: make(chan watch.Event), done: make(chan struct{}), behind: make(chan struct{}, 1),
		opened: time.Now(), overdue: time.NewTimer(asked + overtime), tick: time.NewTicker(silence / ticks),
	}
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

// discard ends a watch that nobody got.
func (s *stream) discard() {
	s.Interface.Stop()
	s.overdue.Stop()
	s.tick.Stop()
}

// reopen ends the watch because it is behind.
func (s *stream) reopen() {
	select {
	case s.behind <- struct{}{}:
	default: // it is about to end
	}
}

// look waits for a first event, but not for long, and returns an error if that, or the
// lack of it, says that the watch does not work.
func (s *stream) look(ctx context.Context, atMost time.Duration) error {
	limit := time.NewTimer(atMost)
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

// relay hands the events on until the watch ends or is stopped, or has to be ended.
func (s *stream) relay() {
	defer close(s.out)
	defer s.overdue.Stop()
	defer s.tick.Stop()
	if s.first != nil && !s.take(*s.first) {
		return
	}
	for {
		select {
		case e, open := <-s.Interface.ResultChan():
			if !open || !s.take(e) {
				return
			}
		case <-s.tick.C:
			if s.quieter() {
				s.note(errSilent)
				return
			}
		case <-s.behind:
			s.note(errBehind)
			return
		case <-s.overdue.C:
			if !s.fruitful && !(s.trial && s.complete) {
				s.note(errSilent) // nor has the server ended it
			}
			return
		case <-s.done:
			return
		}
	}
}

// take hands an event on, and reports whether the watch goes on.
func (s *stream) take(e watch.Event) bool {
	if s.listed == nil || !s.takes(e) {
		if !s.hand(e) || endsList(e) && !s.catchUp() {
			return false
		}
	}
	s.fruitful = s.fruitful || e.Type != watch.Error && (!s.initial || s.complete)
	if endsList(e) && s.trial {
		s.overdue.Reset(afterList)
	}
	s.complete = s.complete || endsList(e)
	s.bookmarked = s.bookmarked || e.Type == watch.Bookmark && !endsList(e)
	s.quiet = 0
	s.tick.Reset(silence / ticks)
	return true
}

// quieter counts the time in which nothing came, and reports whether it was too much.
func (s *stream) quieter() bool {
	s.quiet++
	if s.quiet == nudgeAfter && !s.bookmarked {
		s.nudge()
	}
	return s.quiet >= ticks
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
