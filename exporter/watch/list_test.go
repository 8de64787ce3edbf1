package watch

import (
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func threePods() []*runtime.Unknown {
	return []*runtime.Unknown{apiObject("pods", "a", "5"), apiObject("pods", "b", "6"), apiObject("pods", "c", "7")}
}

// TestPagesThatExpire lets the second page expire after the first was passed on. The whole list must then be requested
// at once.
func TestPagesThatExpire(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.nextPages = 410
		s.api.objects["pods"] = threePods()
		s.start()
		s.want(event.KindPod, "listing", "listed a", "listing", "listed a", "listed b", "listed c", "synced")
		s.wantLog(0, "WARN", "")
		s.api.stream("pods").send("DELETED", apiObject("pods", "b", "21"))
		s.want(event.KindPod, "deleted b")
	})
}

func TestListThatBreaksOffBeginsAnew(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.nextPages = 500
		s.api.objects["pods"] = threePods()
		s.api.objects["services"] = []*runtime.Unknown{apiObject("services", "web", "7")}
		s.start()
		s.want(event.KindPod, "listing", "listed a", "down server error")
		s.api.set(func() { s.api.nextPages = 0 })
		time.Sleep(2 * time.Second)
		s.want(event.KindPod, "listing", "listed a", "listed b", "listed c", "synced")
		s.want(event.KindService, "listing", "listed web", "synced")
	})
}

// TestListThatIsNotAnswered checks that a list is requested again if the server does not respond.
func TestListThatIsNotAnswered(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.hangs = map[string]bool{"list pods": true}
		s.start()
		time.Sleep(90500*time.Millisecond - peekTime)
		s.want(event.KindPod, "listing", "down timeout")
		s.api.set(func() { s.api.hangs = nil })
		time.Sleep(5 * time.Second)
		s.want(event.KindPod, "listing", "synced")
		s.wantLog(1, "INFO", "is working again")
	})
}

// TestNothingComesAfterTheEnd checks that no event follows after Run has returned, because the receiver may have closed
// its file.
func TestNothingComesAfterTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.objects["pods"] = threePods()
		over := make(chan struct{})
		s.onEvent = func(text string) {
			if text != "listed a" {
				return
			}
			s.stop()
			time.Sleep(time.Minute) // the receiver is slow
			select {
			case <-over:
				t.Error("Run returned while an event was passed on")
			default:
			}
		}
		s.start()
		if err := <-s.ran; err != nil {
			t.Error(err)
		}
		close(over)
		time.Sleep(2 * time.Minute)
	})
}

// TestObjectThatCannotBeRead checks that an unreadable object makes its resource unwatchable. This must be logged once,
// and retried with a back-off.
func TestObjectThatCannotBeRead(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5")}
		s.start()
		s.want(event.KindPod, "listing", "listed a", "synced")
		s.api.set(func() { s.api.objects["pods"] = append(s.api.objects["pods"], broken()) })
		s.api.stream("pods").send("MODIFIED", broken())
		time.Sleep(10 * time.Minute)
		s.wantLog(1, "WARN", "resource=pods")
		s.wantLog(0, "INFO", "is working again")
		if asked := len(s.api.asked("watch pods")) + len(s.api.asked("list pods")); asked > 500 {
			t.Errorf("asked %d times in 10 minutes", asked)
		}
	})
}

// TestEventThatCannotBeRead checks that the resource is listed again, because the next watch would begin with the same
// event.
func TestEventThatCannotBeRead(t *testing.T) {
	for name, object := range map[string]*runtime.Unknown{"broken": broken(), "of another kind": apiObject("nodes", "m", "21")} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(_ *testing.T, s *session) {
				quietPods(s, odd{})
				s.api.stream("pods").send("MODIFIED", object)
				time.Sleep(2 * minLife)
				s.want(event.KindPod, "down unreadable answer", "listing", "listed a", "synced")
				s.wantLog(1, "WARN", "unreadable")
			})
		})
	}
}
