package watch

import (
	"bytes"
	"context"
	"log/slog"
	"net"
	"os"
	"reflect"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func refusedConnection() error {
	return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}
}

// session is a Watcher with a fakeAPI in a synctest bubble.
type session struct {
	t    *testing.T
	api  *fakeAPI
	stop context.CancelFunc
	// namespace is the watched namespace. It is empty for all namespaces.
	namespace string
	failFast  bool
	ran       chan error
	watcher   *Watcher
	// onEvent is called for each event before the event is stored.
	onEvent func(text string)

	lock   sync.Mutex
	events map[event.Kind][]string
	log    bytes.Buffer
}

// inBubble runs a test with a fakeAPI. synctest fails the test if a goroutine remains at the end.
func inBubble(t *testing.T, test func(t *testing.T, s *session)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s := &session{t: t, api: newFakeAPI(t), ran: make(chan error, 1), events: map[event.Kind][]string{}}
		test(t, s)
	})
}

func (s *session) start() {
	var ctx context.Context
	ctx, s.stop = context.WithCancel(s.t.Context())
	w, err := New(s.api.config(), "the API server", s.namespace, slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})), s.sink)
	if err != nil {
		s.t.Fatal(err)
	}
	s.watcher, w.FailFast = w, s.failFast
	go func() { s.ran <- w.Run(ctx) }()
	s.t.Cleanup(s.stop)
	synctest.Wait()
	time.Sleep(peekTime)
	synctest.Wait()
}

func (s *session) sink(e event.Event) {
	text := e.Type.String() + " " + string(e.Reason)
	if got, want := reflect.TypeOf(e.Object), reflect.TypeOf(event.New(e.Kind)); e.Type.HasObject() && got != want {
		s.t.Errorf("%s came as %s", e.Kind, got)
	}
	if e.Object != nil {
		text += e.Object.Metadata().Name
	}
	text = strings.TrimSpace(text)
	if s.onEvent != nil {
		s.onEvent(text)
	}
	s.lock.Lock()
	defer s.lock.Unlock()
	s.events[e.Kind] = append(s.events[e.Kind], text)
}

// Write stores log lines.
func (s *session) Write(text []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.log.Write(text)
}

// want checks the events of a kind since the previous call.
func (s *session) want(kind event.Kind, want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	got := strings.Join(s.events[kind], "; ")
	if got != strings.Join(want, "; ") {
		s.t.Errorf("%s:\n got %s\nwant %s", kind, got, strings.Join(want, "; "))
	}
	s.events[kind] = nil
}

// wantLog checks the number of log lines at a level that contain a text.
func (s *session) wantLog(times int, level, text string) {
	s.t.Helper()
	if count := s.logged(level, text); count != times {
		s.t.Errorf("%q is %d times in the log at level %s, not %d:\n%s", text, count, level, times, s.log.String())
	}
}

// logged returns the number of log lines at a level that contain a text.
func (s *session) logged(level, text string) (count int) {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "level="+level) && strings.Contains(line, text) {
			count++
		}
	}
	return count
}

// wantSorted is like want, but accepts the events of two objects in either order.
func (s *session) wantSorted(kind event.Kind, want ...string) {
	s.t.Helper()
	synctest.Wait()
	s.lock.Lock()
	if got := s.events[kind]; len(got) == 4 && got[1] > got[2] {
		got[1], got[2] = got[2], got[1]
	}
	s.lock.Unlock()
	s.want(kind, want...)
}

// refusePods ends the watch of pods, and refuses all requests for them for a while.
func (s *session) refusePods(code int, d time.Duration) {
	s.api.set(func() { s.api.refuse["watch pods"], s.api.refuse["list pods"] = code, code })
	close(s.api.stream("pods").end)
	time.Sleep(d)
	s.api.set(func() { clear(s.api.refuse) })
}

// unrepeat removes bookmarks and consecutive equal events, because the number of retries is random.
func (s *session) unrepeat(kind event.Kind) {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	var once []string
	for _, e := range s.events[kind] {
		if e != "bookmark" && (len(once) == 0 || once[len(once)-1] != e) {
			once = append(once, e)
		}
	}
	s.events[kind] = once
}
