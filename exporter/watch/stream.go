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
	// maxSilence is the maximum time between two events or bookmarks of a working watch. Reflectors always request
	// bookmarks. Servers send each watch a bookmark about every minute (apiserver, cacher.defaultBookmarkFrequency), up
	// to 3 s late. The remaining time allows for a slow server.
	//
	// A server omits bookmarks while its watch cache has the same version as at the start of the watch
	// (cacheWatcher.process). This version advances with each event of the resource and with each progress notification
	// from etcd. Progress notifications arrive every 5 s if kubeadm configured etcd, otherwise every 10 minutes. The
	// watch cache also requests a notification before it serves a list that must be current. If a new watch delivers
	// nothing for quietTicks ticks, kubeflap therefore requests such a list. After the first bookmark, bookmarks arrive
	// every minute.
	maxSilence = 90 * time.Second
	// silenceTicks is the number of timer ticks in maxSilence. After quietTicks ticks without an event, onQuiet is
	// called.
	silenceTicks = 6
	quietTicks   = 3
	// kubeflap ends a watch that continues for maxOverdue after its timeout. Servers measure the timeout with their own
	// clocks (apiserver, handlers.serveWatchHandler).
	maxOverdue = 30 * time.Second
)

// stream wraps a watch and reports why the watch ended. The reason is in an Error event, which the reflector does not
// expose. stream therefore relays all events. The reflector passes events to the store and then calls Stop in the same
// goroutine (cache.Reflector, handleAnyWatch). The end of the watch is therefore reported after its last event.
type stream struct {
	watch.Interface
	out   chan watch.Event
	done  chan struct{}
	stop  sync.Once
	first *watch.Event
	// A value in the channel behind means that the watch must end, because it lags behind etcd.
	behind chan struct{}

	// onEnd is called once after the last event. onQuiet is called after quietTicks ticks without an event, unless the
	// server has already sent a bookmark.
	onEnd   func(error)
	onQuiet func()
	// onListed receives the objects of a large streamed list. It is nil unless such a list is in progress. changes is
	// the list of Modified and Deleted events that arrive in the meantime.
	onListed func(runtime.Object)
	changes  []watch.Event

	// opened is the time of the server's response. The timer overdue fires if the server does not end the watch on
	// time.
	opened  time.Time
	overdue *time.Timer
	// quiet is the number of ticks since the last event. No tick fires while the process is suspended. After a
	// suspension, kubeflap can therefore still read the events that arrived in the meantime.
	tick  *time.Ticker
	quiet int

	// probe is set if the watch was suspect when this stream was opened. If such a stream starts with a list, the
	// stream ends soon after the list. The next watch has a short timeout.
	probe bool
	// listFirst is set if the watch starts with a list. listComplete is set when that list is complete.
	listFirst, listComplete bool
	// bookmarked is set if the server sends bookmarks. delivered is set if an event or a bookmark arrived after the
	// list.
	bookmarked, delivered bool

	lock  sync.Mutex
	cause error
}

func newStream(raw watch.Interface, options *metav1.ListOptions) *stream {
	timeout := time.Duration(*options.TimeoutSeconds) * time.Second // a reflector always sets a timeout
	return &stream{
		Interface: raw, out: make(chan watch.Event), done: make(chan struct{}), behind: make(chan struct{}, 1),
		opened: time.Now(), overdue: time.NewTimer(timeout + maxOverdue), tick: time.NewTicker(maxSilence / silenceTicks),
	}
}

// ResultChan returns the channel of events.
func (s *stream) ResultChan() <-chan watch.Event { return s.out }

// Stop ends the watch.
func (s *stream) Stop() {
	s.stop.Do(func() {
		close(s.done)
		s.Interface.Stop()
		for range s.out { // wait until relay has ended
		}
		s.lock.Lock()
		cause := s.cause
		s.lock.Unlock()
		s.onEnd(cause)
	})
}

// discard stops a watch that was never returned to the reflector.
func (s *stream) discard() {
	s.Interface.Stop()
	s.overdue.Stop()
	s.tick.Stop()
}

// reopen ends a watch that lags behind etcd, so that the reflector opens a new one.
func (s *stream) reopen() {
	select {
	case s.behind <- struct{}{}:
	default: // the watch is about to end
	}
}

// peek waits for the first event, up to a limit. It returns an error if the watch ended or the event is an error.
func (s *stream) peek(ctx context.Context, limit time.Duration) error {
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	case first, open := <-s.Interface.ResultChan():
		if !open {
			return errNoEvent
		}
		s.first = &first
		if first.Type == watch.Error {
			return apierrors.FromObject(first.Object)
		}
	}
	return nil
}

// relay passes events on until the watch ends or is stopped, or until it is silent, lagging or overdue.
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
			if s.isSilent() {
				s.note(errSilent)
				return
			}
		case <-s.behind:
			s.note(errBehind)
			return
		case <-s.overdue.C:
			if !s.delivered && !(s.probe && s.listComplete) {
				s.note(errSilent) // the server did not end the watch at its timeout
			}
			return
		case <-s.done:
			return
		}
	}
}

// take relays an event and reports whether the watch continues.
func (s *stream) take(e watch.Event) bool {
	ends := endsInitialList(e)
	if s.onListed == nil || !s.keep(e) {
		if !s.send(e) || ends && !s.sendChanges() {
			return false
		}
	}
	s.delivered = s.delivered || e.Type != watch.Error && (!s.listFirst || s.listComplete)
	if ends && s.probe {
		s.overdue.Reset(shortWatch)
	}
	s.listComplete = s.listComplete || ends
	s.bookmarked = s.bookmarked || e.Type == watch.Bookmark && !ends
	s.quiet = 0
	s.tick.Reset(maxSilence / silenceTicks)
	return true
}

// isSilent counts a tick without an event. It reports whether maxSilence is reached.
func (s *stream) isSilent() bool {
	s.quiet++
	if s.quiet == quietTicks && !s.bookmarked {
		s.onQuiet()
	}
	return s.quiet >= silenceTicks
}

// keep withholds the events of a large list from the reflector, which would store the whole list (cache.Reflector,
// watchList). It passes each object of the list to onListed, and stores changes until the list is complete. It returns
// false if the reflector must receive the event.
func (s *stream) keep(e watch.Event) bool {
	switch e.Type {
	case watch.Added:
		s.onListed(e.Object)
	case watch.Modified, watch.Deleted:
		s.changes = append(s.changes, e)
	default:
		return false
	}
	return true
}

// sendChanges sends the changes that arrived during the list.
func (s *stream) sendChanges() bool {
	changes := s.changes
	s.onListed, s.changes = nil, nil
	for _, e := range changes {
		if !s.send(e) {
			return false
		}
	}
	return true
}

// note stores why the watch ended. Later causes are ignored, because a watch that kubeflap stops can look like a broken
// connection.
func (s *stream) note(cause error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	if s.cause == nil {
		s.cause = cause
	}
}

func (s *stream) send(e watch.Event) bool {
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
