package watch

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestWatchThatEndsSoonAfterEachOpening checks that a watch that always ends right after it was opened is reopened with
// a back-off, and stays reported as down.
func TestWatchThatEndsSoonAfterEachOpening(t *testing.T) {
	for _, c := range []struct {
		name   string
		o      odd
		reason string
		// most is the maximum number of log lines. The first watches appear to work for a moment, so that each may log
		// a line.
		most int
	}{
		{"at once", odd{breaks: true}, "connection lost", 1},
		{"at once, with an error", odd{breaks: true, last: errorFrame(500, metav1.StatusReasonInternalError, "no")}, "server error", 1},
		{"after a while", odd{breaks: true, after: 200 * time.Millisecond}, "connection lost", 8},
		{"after a while, with an error", odd{breaks: true, after: 200 * time.Millisecond, last: errorFrame(500, metav1.StatusReasonInternalError, "no")}, "server error", 8},
		{"after some seconds", odd{breaks: true, after: 2 * time.Second}, "connection lost", 8},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				quietPods(s, odd{})
				s.api.set(func() { s.api.odd["pods"] = c.o })
				time.Sleep(30 * time.Second)
				before := len(s.api.asked("watch pods")) + len(s.api.asked("list pods"))
				close(s.api.stream("pods").end)
				time.Sleep(4 * time.Minute)
				s.unrepeat(event.KindPod)
				s.wantDownAllTheTime(event.KindPod, c.reason)
				if asked := len(s.api.asked("watch pods")) + len(s.api.asked("list pods")) - before; asked > 90 {
					t.Errorf("asked %d times in 4 minutes", asked)
				}
				if lines := s.logged("WARN", "resource=pods"); lines < 1 || lines > c.most {
					t.Errorf("%d lines in the log", lines)
				}

				s.api.set(func() { s.api.odd["pods"] = odd{} })
				time.Sleep(80 * time.Second)
				s.unrepeat(event.KindPod)
				s.wantEnd(event.KindPod, "up")
				if lines := s.logged("INFO", "is working again"); lines < 1 || lines > c.most {
					t.Errorf("%d times it is working again", lines)
				}
			})
		})
	}
}

// TestWatchThatEndsAfterAnEvent checks that a watch that has delivered an event is reopened immediately, because
// proxies may end watches at any time.
func TestWatchThatEndsAfterAnEvent(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{})
		for range 20 {
			s.api.stream("pods").send("MODIFIED", apiObject("pods", "a", "22"))
			close(s.api.stream("pods").end)
			time.Sleep(200 * time.Millisecond)
			s.want(event.KindPod, "modified a", "down ended", "up")
		}
		s.wantLog(0, "WARN", "resource=pods")
	})
}

// TestAbsentAfterForbidden checks that the absence of a resource is treated as temporary even after its permission was
// withdrawn.
func TestAbsentAfterForbidden(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{})
		time.Sleep(minLife)
		s.api.set(func() { s.api.refuse["list pods"], s.api.refuse["watch pods"] = 403, 403 })
		close(s.api.stream("pods").end)
		time.Sleep(5 * time.Minute)
		s.unrepeat(event.KindPod)
		s.want(event.KindPod, "down ended", "down forbidden", "unavailable forbidden")
		s.api.set(func() { s.api.refuse["list pods"], s.api.refuse["watch pods"] = 404, 404 })
		time.Sleep(5 * time.Minute)
		s.want(event.KindPod)
		s.api.set(func() { clear(s.api.refuse) })
		time.Sleep(recheck)
		s.want(event.KindPod, "listing", "listed a", "synced")
	})
}

// wantDownAllTheTime checks that the watch went down with a reason and did not recover.
func (s *session) wantDownAllTheTime(kind event.Kind, reason string) {
	s.t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	down := 0 // the first downs are tolerated, because a starting server also ends watches
	for i, e := range s.events[kind] {
		switch {
		case e == "up" && down > 8:
			s.t.Errorf("%s is up: %v", kind, s.events[kind])
		case e == "down "+reason:
			down++
		case e == "synced" && down > 8 && (i+1 == len(s.events[kind]) || s.events[kind][i+1] != "down "+reason):
			s.t.Errorf("%s is synced and not down: %v", kind, s.events[kind])
		}
	}
	if down == 0 {
		s.t.Errorf("%s was not down: %v", kind, s.events[kind])
	}
	s.events[kind] = nil
}

func (s *session) wantEnd(kind event.Kind, want string) {
	s.t.Helper()
	s.lock.Lock()
	defer s.lock.Unlock()
	if got := s.events[kind]; len(got) == 0 || got[len(got)-1] != want {
		s.t.Errorf("%s ends with %v, want %s", kind, got, want)
	}
	s.events[kind] = nil
}

func TestListsThatAlwaysExpireAreDelayed(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.start()
		s.api.set(func() { s.api.refuse["watch pods"] = 410 })
		close(s.api.stream("pods").end)
		time.Sleep(time.Minute)
		if n := len(s.api.asked("watch pods")); n > 60 {
			t.Errorf("%d requests in a minute", n)
		}
		s.api.set(func() { clear(s.api.refuse) })
		time.Sleep(10 * time.Second)
		s.wantEnd(event.KindPod, "synced")
	})
}
