package watch

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// TestLists lists three pods in pages. If the second page expires, the whole list must be requested at once.
func TestLists(t *testing.T) {
	for _, c := range []struct {
		name       string
		fail, mend func(f *fakeAPI)
		after      time.Duration
		want       []string
		warnings   int
		asked      string
	}{
		{
			"in pages", func(*fakeAPI) {}, func(*fakeAPI) {}, 0,
			[]string{"listing", "listed a", "listed b", "listed c", "synced"},
			0,
			"limit=1 limit=500 continue=1&limit=500 continue=2&limit=500",
		},
		{
			"a page expires", func(f *fakeAPI) { f.nextPages = 410 }, func(*fakeAPI) {}, 0,
			[]string{"listing", "listed a", "listing", "listed a", "listed b", "listed c", "synced"},
			0, "limit=1 limit=500 continue=1&limit=500 ",
		},
		{
			"it breaks off", func(f *fakeAPI) { f.nextPages = 500 }, func(f *fakeAPI) { f.nextPages = 0 }, 0,
			[]string{"listing", "listed a", "down server error", "listing", "listed a", "listed b", "listed c", "synced"},
			1, "",
		},
		{
			"it is not answered", func(f *fakeAPI) { f.hangs = map[string]bool{"list pods": true} }, func(f *fakeAPI) { f.hangs = nil }, 90500 * time.Millisecond,
			[]string{"listing", "down timeout", "listing", "listed a", "listed b", "listed c", "synced"},
			1, "",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				c.fail(s.api)
				s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5"), apiObject("pods", "b", "6"), apiObject("pods", "c", "7")}
				s.start()
				time.Sleep(c.after)
				s.api.set(func() { c.mend(s.api) })
				time.Sleep(5 * time.Second)
				s.api.stream("pods").send("DELETED", apiObject("pods", "b", "21"))
				s.want(event.KindPod, append(c.want, "deleted b")...)
				s.unrepeat(event.KindService)
				s.want(event.KindService, "listing", "synced")
				s.wantLog(c.warnings, "WARN", "")
				s.wantLog(c.warnings, "INFO", "is working again")
				if got := strings.Join(s.api.asked("list pods"), " "); c.asked != "" && got != c.asked {
					t.Errorf("listed with %s, want %s", got, c.asked)
				}
			})
		})
	}
}

// TestNothingComesAfterTheEnd checks that no event follows after Run has returned, because the receiver may have closed
// its file.
func TestNothingComesAfterTheEnd(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5"), apiObject("pods", "b", "6")}
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
