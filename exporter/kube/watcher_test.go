package kube

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

// session is a watcher that runs against a fakeAPI in a bubble.
type session struct {
	t    *testing.T
	api  *fakeAPI
	stop context.CancelFunc
	ran  chan error

	lock   sync.Mutex
	events map[event.Kind][]string
	log    bytes.Buffer
}

// inBubble runs a test with a fakeAPI. That all goroutines are gone at the end, synctest sees to.
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
	w, err := New(s.api.config(), slog.New(slog.NewTextHandler(s, &slog.HandlerOptions{Level: slog.LevelDebug})), s.sink)
	if err != nil {
		s.t.Fatal(err)
	}
	go func() { s.ran <- w.Run(ctx) }()
	s.t.Cleanup(s.stop)
	synctest.Wait()
}

func (s *session) sink(e event.Event) {
	s.lock.Lock()
	defer s.lock.Unlock()
	text := e.Type.String() + " " + e.Reason
	if got, want := reflect.TypeOf(e.Object), reflect.TypeOf(event.New(e.Kind)); e.Type.HasObject() && got != want {
		s.t.Errorf("%s came as %s", e.Kind, got)
	}
	if e.Object != nil {
		text += e.Object.Metadata().Name
	}
	s.events[e.Kind] = append(s.events[e.Kind], strings.TrimSpace(text))
}

// Write takes the log.
func (s *session) Write(text []byte) (int, error) {
	s.lock.Lock()
	defer s.lock.Unlock()
	return s.log.Write(text)
}

// want compares the events of a kind since the last time.
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

// wantLog counts the lines above debug level that contain a text.
func (s *session) wantLog(times int, level, text string) {
	s.t.Helper()
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	count := 0
	for line := range strings.Lines(s.log.String()) {
		if strings.Contains(line, "level="+level) && strings.Contains(line, text) {
			count++
		}
	}
	if count != times {
		s.t.Errorf("%q is %d times in the log at level %s, not %d:\n%s", text, count, level, times, s.log.String())
	}
}

func TestWatch(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.objects["pods"] = []string{apiObject("pods", "a", "5"), apiObject("pods", "b", "6")}
		s.start()
		s.wantSorted(event.KindPod, "listing", "listed a", "listed b", "synced")
		s.want(event.KindService, "listing", "synced")
		s.want(event.KindCluster, "listed")

		pods := s.api.stream("pods")
		pods.send("ADDED", apiObject("pods", "c", "21"))
		pods.send("MODIFIED", apiObject("pods", "a", "22"))
		pods.send("BOOKMARK", bookmark("pods", "30", ""))
		pods.send("DELETED", apiObject("pods", "b", "31"))
		s.want(event.KindPod, "added c", "modified a", "bookmark", "deleted b")
		s.wantLog(1, "DEBUG", "v1 Endpoints is deprecated")

		s.stop()
		s.want(event.KindPod)
	})
}

// wantSorted is for lists, whose objects come in any order.
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

func TestWatchEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		// happen ends the watch of pods.
		happen   func(s *session)
		want     []string
		warnings int
		// from is where the next watch starts.
		from string
	}{
		{
			"in good order, and goes on where it was",
			func(s *session) { close(s.api.stream("pods").end) },
			[]string{"down ended", "up"},
			0, "resourceVersion=22",
		},
		{
			"and its version has expired: another list",
			func(s *session) {
				s.api.set(func() { s.api.expired = true })
				close(s.api.stream("pods").end)
			},
			[]string{"down ended", "down expired", "listing", "listed a", "synced"},
			1, "sendInitialEvents=true",
		},
		{
			"with an error of the server's, and goes on where it was",
			func(s *session) {
				s.api.stream("pods").send("ERROR", `{"apiVersion":"v1","kind":"Status","status":"Failure","code":500,"reason":"InternalError"}`)
			},
			[]string{"down server error", "up"},
			1, "resourceVersion=22",
		},
		{
			"because nobody listens any more, which lasts for 20 seconds",
			func(s *session) {
				s.api.crash()
				time.Sleep(20 * time.Second)
				s.api.set(func() { s.api.down = false })
			},
			[]string{"down ended", "down connection refused", "up"},
			1, "resourceVersion=22",
		},
		{
			"and the server is not ready for 20 seconds: the list is not repeated",
			func(s *session) {
				s.api.set(func() { s.api.refuse["watch pods"] = 503 })
				close(s.api.stream("pods").end)
				time.Sleep(20 * time.Second)
				s.api.set(func() { delete(s.api.refuse, "watch pods") })
			},
			[]string{"down ended", "down server error", "up"},
			1, "resourceVersion=22",
		},
		{
			"and so does the right to watch",
			func(s *session) {
				s.api.set(func() { s.api.refuse["watch pods"], s.api.refuse["list pods"] = 403, 403 })
				close(s.api.stream("pods").end)
				time.Sleep(20 * time.Second)
				s.api.set(func() { clear(s.api.refuse) })
			},
			[]string{"down ended", "down forbidden", "listing", "listed a", "synced"},
			1, "sendInitialEvents=true",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				s.api.objects["pods"] = []string{apiObject("pods", "a", "5")}
				s.start()
				s.api.stream("pods").send("MODIFIED", apiObject("pods", "a", "22"))
				s.want(event.KindPod, "listing", "listed a", "synced", "modified a")

				c.happen(s)
				time.Sleep(30 * time.Second)
				s.unrepeat(event.KindPod)
				s.want(event.KindPod, c.want...)
				s.wantLog(c.warnings, "WARN", "resource=pods")
				s.wantLog(c.warnings, "INFO", `works again" resource=pods`)
				s.lock.Lock()
				defer s.lock.Unlock()
				queries := s.api.requests["watch pods"]
				if last := queries[len(queries)-1]; !strings.Contains(last, c.from) {
					t.Errorf("the watch went on with %s, not %s", last, c.from)
				}
			})
		})
	}
}

// unrepeat leaves one of events that say the same in a row: how often something is tried again is random.
func (s *session) unrepeat(kind event.Kind) {
	synctest.Wait()
	s.lock.Lock()
	defer s.lock.Unlock()
	var once []string
	for _, e := range s.events[kind] {
		if len(once) == 0 || once[len(once)-1] != e {
			once = append(once, e)
		}
	}
	s.events[kind] = once
}

func TestEventsAfterAResumedWatch(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.start()
		s.want(event.KindPod, "listing", "synced")
		time.Sleep(5 * time.Minute)
		close(s.api.stream("pods").end)
		pods := s.api.stream("pods")
		pods.send("ADDED", apiObject("pods", "a", "21"))
		pods.send("ADDED", apiObject("pods", "b", "22"))
		s.want(event.KindPod, "down ended", "up", "added a", "added b")
	})
}

func TestServerWithoutWatchList(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.noWatchList = true
		s.api.objects["pods"] = []string{apiObject("pods", "a", "5"), apiObject("pods", "b", "6"), apiObject("pods", "c", "7")}
		s.start()
		s.api.stream("pods").send("DELETED", apiObject("pods", "b", "21"))
		s.want(event.KindPod, "listing", "listed a", "listed b", "listed c", "synced", "deleted b")
		s.wantLog(0, "WARN", "")
		s.lock.Lock()
		defer s.lock.Unlock()
		got := strings.Join(s.api.requests["list pods"], " ")
		if want := "limit=1 limit=500 continue=1&limit=500 continue=2&limit=500"; got != want {
			t.Errorf("listed with %s, want %s", got, want)
		}
	})
}

func TestStopWhileNothingAnswers(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.start()
		s.api.crash()
		time.Sleep(time.Minute)
		stopped := time.Now()
		s.stop()
		if err := <-s.ran; err != nil {
			t.Errorf("Run ended with %v", err)
		}
		if took := time.Since(stopped); took > 0 {
			t.Errorf("Run went on for %s", took)
		}
	})
}

func TestVersionIsAskedForAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.start()
		s.api.crash()
		time.Sleep(2 * time.Minute)
		s.api.set(func() { s.api.down = false })
		time.Sleep(time.Minute)
		s.want(event.KindCluster, "listed") // once: it is the same version
		s.lock.Lock()
		defer s.lock.Unlock()
		if asked := len(s.api.requests["list version"]); asked != 2 {
			t.Errorf("asked %d times", asked)
		}
	})
}
