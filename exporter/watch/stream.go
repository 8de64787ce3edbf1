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
	// maxSilence is how long a watch may bring nothing. Servers send each watch a bookmark about every minute (apiserver,
	// cacher.defaultBookmarkFrequency; a reflector always asks for them), plus up to 3 s for their buckets and timer. Half a
	// minute more is for a slow server.
	//
	// A server that works leaves bookmarks out in one case: no version is newer than the one the watch began with
	// (cacheWatcher.process). The newest version of a resource's watch cache moves with the resource's own events and with
	// progress notifications of etcd. Those come every 5 s if kubeadm set up etcd, by default every 10 minutes, or when the
	// watch cache asks. It asks before it answers a list that must be current. So a watch without a bookmark requests such a
	// list after quietTicks, before a minute is over. From the first bookmark on, they come each minute.
	maxSilence = 90 * time.Second
	// silenceTicks are the steps in which silence is counted.
	silenceTicks = 6
	quietTicks   = 3
	// maxOverdue is how long a watch may outlast its timeout. Servers end a watch on time, by their own clock (apiserver,
	// handlers.serveWatchHandler).
	maxOverdue = 30 * time.Second
)

// stream is a watch that reports when and why it ended. The reflector calls Stop as soon as it has seen the end, in the
// goroutine that passes the events to the store (cache.Reflector, handleAnyWatch). So the end is reported after the last
// event. The reason for the end is in an event of type Error, which the reflector shows to nobody. So the stream relays all
// events.
type stream struct {
	watch.Interface
	out   chan watch.Event
	done  chan struct{}
	stop  sync.Once
	first *watch.Event
	// behind is full when the watch must end because it is behind.
	behind chan struct{}

	// onEnd is called once, after the last event. onQuiet is called once, if nothing has come for long.
	onEnd   func(error)
	onQuiet func()
	// onListed takes the objects of a large list that is streamed, nil when the list is complete. changes are the events that
	// came in between.
	onListed func(runtime.Object)
	changes  []watch.Event

	// opened is when the server answered. overdue fires if the server does not end the watch on time.
	opened  time.Time
	overdue *time.Timer
	// tick counts quiet, the time in which nothing came. It counts only while the process runs: if the process was stopped for
	// minutes, the events that came in the meantime are read first.
	tick  *time.Ticker
	quiet int

	// probe: the watch is suspect. If it begins with a list, it ends soon after that, and the next one is a short probe.
	probe bool
	// listFirst: the watch begins with a list, which is listComplete or not.
	listFirst, listComplete bool
	// bookmarked: the server sends bookmarks. delivered: an event or a bookmark came, not counting the list.
	bookmarked, delivered bool

	lock  sync.Mutex
	cause error
}

func newStream(raw watch.Interface, options *metav1.ListOptions) *stream {
	timeout := time.Duration(*options.TimeoutSeconds) * time.Second // a reflector always sets it
	return &stream{
		Interface: raw, out: make(chan watch.Event), done: make(chan struct{}), behind: make(chan struct{}, 1),
		opened: time.Now(), overdue: time.NewTimer(timeout + maxOverdue), tick: time.NewTicker(maxSilence / silenceTicks),
	}
}

// ResultChan returns the channel of the events.
func (s *stream) ResultChan() <-chan watch.Event { return s.out }

// Stop ends the watch.
func (s *stream) Stop() {
	s.stop.Do(func() {
		close(s.done)
		s.Interface.Stop()
		for range s.out { // until relay has ended
		}
		s.lock.Lock()
		cause := s.cause
		s.lock.Unlock()
		s.onEnd(cause)
	})
}

// discard ends a watch that was not handed to the reflector.
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

// peek waits for the first event, up to a limit. It fails if the watch ended or the event is an error.
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

// relay relays the events until the watch ends, is stopped, or is silent, behind or overdue.
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
				s.note(errSilent) // the server should have ended it
			}
			return
		case <-s.done:
			return
		}
	}
}

// take relays an event, and reports whether the watch goes on.
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

// isSilent counts the ticks in which nothing came, and reports whether there were too many.
func (s *stream) isSilent() bool {
	s.quiet++
	if s.quiet == quietTicks && !s.bookmarked {
		s.onQuiet()
	}
	return s.quiet >= silenceTicks
}

// keep keeps an event of a large list from the reflector, which would store the whole list (cache.Reflector, watchList). An
// object is passed on at once. A change waits until the list is complete.
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

// sendChanges sends the changes that came during the list.
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

// note keeps the first cause. A watch that is stopped may look like a broken connection.
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
