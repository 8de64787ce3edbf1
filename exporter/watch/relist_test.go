package watch

import (
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// quietPods starts a session in which pods do not change.
func quietPods(s *session, o odd) {
	s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5")}
	s.api.odd["pods"] = o
	s.start()
	s.want(event.KindPod, "listing", "listed a", "synced")
}

// TestSilentWatchIsListedAgain checks that a watch without events and bookmarks is listed again every 90 s.
func TestSilentWatchIsListedAgain(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true})
		time.Sleep(89 * time.Second)
		for i := range 3 {
			s.want(event.KindPod)
			time.Sleep(2 * time.Second)
			s.want(event.KindPod, "down silent", "listing", "listed a", "synced")
			s.wantLog(i+1, "WARN", "cause=silent")
			s.wantLog(i+1, "INFO", "is working again")
			time.Sleep(88 * time.Second)
		}
		s.api.stream("pods").send("BOOKMARK", bookmark("pods", "30"))
		s.want(event.KindPod, "bookmark")
	})
}

// TestSilenceIsCountedFromTheLastSign checks that silence is measured from the last event or bookmark.
func TestSilenceIsCountedFromTheLastSign(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true})
		for range 2 {
			time.Sleep(80 * time.Second)
			s.api.stream("pods").send("MODIFIED", apiObject("pods", "a", "22"))
		}
		s.want(event.KindPod, "modified a", "modified a")
		time.Sleep(91 * time.Second)
		s.want(event.KindPod, "down silent", "listing", "listed a", "synced")
	})
}

// TestWatchThatIsNotAnswered covers a server that responds to lists, but not to watches. The watch stays down.
func TestWatchThatIsNotAnswered(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{})
		time.Sleep(10 * time.Second)
		s.api.set(func() { s.api.hangs = map[string]bool{"watch pods": true} })
		close(s.api.stream("pods").end)
		time.Sleep(89 * time.Second)
		s.want(event.KindPod, "down ended")
		time.Sleep(2 * time.Second)
		s.want(event.KindPod, "down silent", "listing", "listed a")
		time.Sleep(8 * time.Minute)
		s.want(event.KindPod, slices.Repeat([]string{"down silent", "listing", "listed a"}, 5)...)
		s.wantLog(1, "WARN", "resource=pods")
		s.api.set(func() { s.api.hangs = nil })
		time.Sleep(maxSilence)
		s.unrepeat(event.KindPod)
		s.want(event.KindPod, "down silent", "listing", "listed a", "synced")
		s.wantLog(1, "INFO", "is working again")
		s.wantLog(1, "INFO", "down=10m")
	})
}

// TestQuietResourceGetsBookmarksOnceItIsAskedFor covers a server that has no bookmark for a quiet resource until a list
// makes it request progress from etcd.
func TestQuietResourceGetsBookmarksOnceItIsAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		quietPods(s, odd{unmoved: true})
		before := len(s.api.asked("list pods"))
		time.Sleep(4*time.Minute + 30*time.Second)
		s.want(event.KindPod, "bookmark", "bookmark", "bookmark", "bookmark")
		if asked := s.api.asked("list pods")[before:]; len(asked) != 1 || asked[0] != "limit=1" {
			t.Errorf("asked with %v", asked)
		}
	})
}

// TestAnEventIsNoBookmark covers a watch that delivers an event, but whose server has no bookmark until progress is
// requested. A watch that resumes delivers such an event.
func TestAnEventIsNoBookmark(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{unmoved: true})
		s.api.stream("pods").send("MODIFIED", apiObject("pods", "a", "5"))
		time.Sleep(2 * time.Minute)
		s.want(event.KindPod, "modified a", "bookmark", "bookmark")
	})
}

func TestReopenLeases(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.objects["leases"] = []*runtime.Unknown{apiObject("leases", "a", "5")}
		s.start()
		time.Sleep(minLife)
		s.api.stream("leases").send("MODIFIED", apiObject("leases", "a", "22"))
		s.want(event.KindLease, "listing", "listed a", "synced", "modified a")
		for range 2 {
			s.watcher.ReopenLeases()
			s.watcher.ReopenLeases()
			time.Sleep(10 * time.Second)
			s.want(event.KindLease, "down silent", "listing", "listed a", "synced")
		}
		s.want(event.KindNode, "listing", "synced")
		s.wantLog(2, "WARN", "cause=silent")
	})
}

// TestReopenLeasesWithoutAWatch checks that the request has no effect on a later watch.
func TestReopenLeasesWithoutAWatch(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.refuse = map[string]int{"list leases": 403}
		s.start()
		s.want(event.KindLease, "unavailable forbidden")
		s.watcher.ReopenLeases()
		s.api.set(func() { clear(s.api.refuse) })
		time.Sleep(recheck + time.Second)
		s.want(event.KindLease, "listing", "synced")
		s.stop()
		if err := <-s.ran; err != nil {
			t.Error(err)
		}
		s.watcher.ReopenLeases()
		s.want(event.KindLease)
	})
}
