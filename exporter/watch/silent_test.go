package watch

import (
	"strings"
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

func TestSilentWatchIsEndedAndSuspect(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true, endless: true})
		time.Sleep(89 * time.Second)
		s.want(event.KindPod)
		time.Sleep(2 * time.Second)
		s.want(event.KindPod, "down silent")
		s.wantLog(1, "WARN", "cause=silent")
		time.Sleep(30 * time.Second)
		s.want(event.KindPod) // the watch is open again, but nothing has arrived

		s.api.stream("pods").send("BOOKMARK", bookmark("pods", "30"))
		s.want(event.KindPod, "up", "bookmark")
		s.wantLog(1, "INFO", "is working again")
		s.want(event.KindNode, "listing", "synced", "bookmark", "bookmark")
	})
}

func TestEventAfterASilentWatch(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true, endless: true})
		s.api.set(func() {
			s.api.first = map[string]string{"pods": frame("MODIFIED", apiObject("pods", "a", "22"))}
		})
		time.Sleep(91 * time.Second)
		s.want(event.KindPod, "down silent", "up", "modified a")
	})
}

// TestSilenceIsCountedFromTheLastSign checks that silence is measured from the last event or bookmark.
func TestSilenceIsCountedFromTheLastSign(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true, endless: true})
		for range 2 {
			time.Sleep(80 * time.Second)
			s.api.stream("pods").send("MODIFIED", apiObject("pods", "a", "22"))
		}
		s.want(event.KindPod, "modified a", "modified a")
		time.Sleep(91 * time.Second)
		s.want(event.KindPod, "down silent")
	})
}

// TestWatchThatStaysSilentIsListedAgain checks that the resource is listed again, repeatedly, after three silent
// watches. A list alone does not prove that the watch works.
func TestWatchThatStaysSilentIsListedAgain(t *testing.T) {
	for _, way := range []struct {
		name        string
		noWatchList bool
	}{{"as a stream", false}, {"in pages", true}} {
		t.Run(way.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				s.api.noWatchList = way.noWatchList
				quietPods(s, odd{mute: true, endless: true})
				time.Sleep(170 * time.Second)
				s.want(event.KindPod, "down silent", "down silent", "down silent", "listing", "listed a", "synced", "down silent")
				time.Sleep(105 * time.Second)
				s.want(event.KindPod, "down silent", "down silent", "down silent", "listing", "listed a", "synced", "down silent")
				s.wantLog(1, "WARN", "resource=pods")
				s.wantLog(0, "INFO", "is working again")

				s.api.stream("pods").send("BOOKMARK", bookmark("pods", "30"))
				s.want(event.KindPod, "up", "bookmark")
				s.wantLog(1, "INFO", "is working again")
				// A lagging server may also return a list that is not older than the given version.
				for i, asked := range s.api.asked("watch pods") {
					if i > 2 && strings.Contains(asked, "sendInitialEvents") && strings.Contains(asked, "resourceVersion=20") {
						t.Errorf("the list was asked for with %s", asked)
					}
				}
			})
		})
	}
}

// TestListThatStallsInTheMiddle checks that the list after a stalled streamed list is requested in pages.
func TestListThatStallsInTheMiddle(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5")}
		s.api.odd["pods"] = odd{stalls: true}
		s.start()
		s.want(event.KindPod, "listing", "listed a")
		time.Sleep(95 * time.Second)
		s.want(event.KindPod, "down silent", "listing", "listed a", "synced", "down silent")
		s.wantLog(1, "WARN", "cause=silent")
		s.api.stream("pods").send("BOOKMARK", bookmark("pods", "30"))
		s.want(event.KindPod, "up", "bookmark")
	})
}

// TestWatchThatIsNotAnswered covers a server that does not respond to a reopened watch.
func TestWatchThatIsNotAnswered(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{})
		time.Sleep(10 * time.Second)
		s.api.set(func() { s.api.odd["pods"] = odd{holds: true} })
		close(s.api.stream("pods").end)
		time.Sleep(89 * time.Second)
		s.want(event.KindPod, "down ended")
		time.Sleep(2 * time.Second)
		s.want(event.KindPod, "down silent")
		time.Sleep(10 * time.Second) // the next attempt gets no response either
		s.api.set(func() { s.api.odd["pods"] = odd{} })
		time.Sleep(4 * time.Minute)
		s.unrepeat(event.KindPod)
		s.want(event.KindPod, "down silent", "up", "down ended", "up")
	})
}

// TestQuietResourceGetsBookmarksOnceItIsAskedFor covers a server that has no bookmark for a quiet resource until a list
// makes it request progress from etcd.
func TestQuietResourceGetsBookmarksOnceItIsAskedFor(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.noWatchList = true
		quietPods(s, odd{unmoved: true})
		before := len(s.api.asked("list pods"))
		time.Sleep(4*time.Minute + 30*time.Second)
		s.want(event.KindPod, "bookmark", "bookmark", "bookmark", "bookmark")
		if asked := s.api.asked("list pods")[before:]; len(asked) != 1 || asked[0] != "limit=1" {
			t.Errorf("asked with %v", asked)
		}
		if asked := s.api.asked("list nodes"); len(asked) != 3 {
			t.Errorf("nodes were asked for with %v", asked)
		}
	})
}

// TestWatchThatIsNotEndedInTime checks that a watch that the server ends late counts as ended normally.
func TestWatchThatIsNotEndedInTime(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{endless: true})
		time.Sleep(10*time.Minute + 31*time.Second)
		s.unrepeat(event.KindPod)
		s.want(event.KindPod, "down ended", "up")
		s.wantLog(0, "WARN", "resource=pods")
	})
}

func TestReopen(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true, endless: true})
		time.Sleep(10 * time.Second)
		s.watcher.Reopen(event.KindPod)
		s.want(event.KindPod, "down silent")
		s.want(event.KindNode, "listing", "synced")
		s.wantLog(1, "WARN", "cause=silent")
		time.Sleep(10 * time.Second)
		s.want(event.KindPod)
		s.api.stream("pods").send("MODIFIED", apiObject("pods", "a", "22"))
		s.want(event.KindPod, "up", "modified a")

		s.watcher.Reopen(event.KindPod)
		s.watcher.Reopen(event.KindPod)
		s.want(event.KindPod, "down silent")

		time.Sleep(10 * time.Second)
		s.watcher.Reopen(event.KindPod) // the watch lags again, without an event since the last call
		time.Sleep(5 * time.Second)
		s.watcher.Reopen(event.KindPod)
		time.Sleep(2 * time.Second)
		s.want(event.KindPod, "down silent", "down silent", "listing", "listed a", "synced", "down silent")
	})
}

func TestReopenWhatDoesNotRun(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.refuse = map[string]int{"list leases": 403}
		s.start()
		s.want(event.KindLease, "unavailable forbidden")
		s.watcher.Reopen(event.KindLease)
		s.watcher.Reopen(event.KindCluster)
		s.stop()
		if err := <-s.ran; err != nil {
			t.Error(err)
		}
		s.watcher.Reopen(event.KindPod)
		s.want(event.KindLease)
	})
}

// TestListThatIsNotAnswered checks that a list is requested in pages if the server does not respond to a streamed list,
// and that the watch stays suspect.
func TestListThatIsNotAnswered(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5")}
		s.api.odd["pods"] = odd{holds: true}
		s.start()
		time.Sleep(91 * time.Second)
		s.want(event.KindPod, "down silent", "listing", "listed a", "synced", "down silent")
		s.wantLog(1, "WARN", "cause=silent")
		time.Sleep(10 * time.Minute)
		s.wantLog(1, "WARN", "resource=pods")
		s.wantLog(0, "INFO", "is working again")
		s.api.set(func() { s.api.odd["pods"] = odd{} })
		time.Sleep(5 * time.Minute)
		s.wantLog(1, "INFO", "is working again")
	})
}

// TestTimeOfSilenceIsLogged checks that the log shows the whole downtime, including lists in between.
func TestTimeOfSilenceIsLogged(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true, endless: true})
		time.Sleep(8 * time.Minute)
		s.api.set(func() { s.api.odd["pods"] = odd{} })
		time.Sleep(4 * time.Minute)
		s.wantLog(1, "INFO", "is working again")
		s.wantLog(0, "INFO", "down=1m")
		s.wantLog(0, "INFO", "down=2m")
	})
}

// TestWatchThatWorksAgainIsTrustedWithinSeconds checks that a suspect watch has a short timeout, so that a recovered
// server sends its last bookmark within seconds.
func TestWatchThatWorksAgainIsTrustedWithinSeconds(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.noWatchList = true
		quietPods(s, odd{})
		s.api.set(func() { s.api.odd["pods"] = odd{breaks: true} })
		close(s.api.stream("pods").end)
		time.Sleep(3 * time.Minute)
		s.unrepeat(event.KindPod)
		s.events[event.KindPod] = nil
		s.api.set(func() { s.api.odd["pods"] = odd{} })
		time.Sleep(10 * time.Second)
		s.unrepeat(event.KindPod)
		s.wantEnd(event.KindPod, "up")
	})
}

// TestServerWithoutBookmarks checks that the timely end of a watch is the sign of life if a server sends no bookmarks.
func TestServerWithoutBookmarks(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		quietPods(s, odd{mute: true})
		time.Sleep(4 * time.Minute)
		s.want(event.KindPod, "down silent", "up", "down ended", "up", "down ended", "up")
		time.Sleep(30 * time.Minute)
		s.unrepeat(event.KindPod)
		for _, e := range s.events[event.KindPod] {
			if e == "down silent" || e == "listing" {
				s.t.Errorf("it was not trusted: %v", s.events[event.KindPod])
				break
			}
		}
		s.wantLog(1, "WARN", "resource=pods")
	})
}
