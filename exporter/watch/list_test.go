package watch

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func threePods() []*runtime.Unknown {
	return []*runtime.Unknown{apiObject("pods", "a", "5"), apiObject("pods", "b", "6"), apiObject("pods", "c", "7")}
}

// TestPagesThatExpire lets the second page expire after the first was passed on. The pager must then request the whole
// list at once.
func TestPagesThatExpire(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.noWatchList, s.api.pagesExpire = true, true
		s.api.objects["pods"] = threePods()
		s.start()
		s.want(event.KindPod, "listing", "listed a", "listing", "listed a", "listed b", "listed c", "synced")
		s.wantLog(0, "WARN", "")
		s.api.stream("pods").send("DELETED", apiObject("pods", "b", "21"))
		s.want(event.KindPod, "deleted b")
	})
}

// TestNothingComesAfterTheEnd checks that no event follows after Run has returned, because the receiver may have closed
// its file.
func TestNothingComesAfterTheEnd(t *testing.T) {
	for _, way := range []struct {
		name        string
		noWatchList bool
	}{{"of a list in pages", true}, {"of a list as a stream", false}} {
		t.Run(way.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				s.api.noWatchList = way.noWatchList
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
		})
	}
}

func TestObjectOfAnotherKindIsNoEvent(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.objects["pods"] = []*runtime.Unknown{apiObject("nodes", "n", "5"), apiObject("pods", "a", "5")}
		s.api.objects["services"] = []*runtime.Unknown{apiObject("nodes", "n", "5"), apiObject("services", "web", "5")}
		s.start()
		pods, services := s.api.stream("pods"), s.api.stream("services")
		pods.send("ADDED", apiObject("nodes", "m", "21"))
		services.send("MODIFIED", apiObject("nodes", "m", "21"))
		pods.send("ADDED", apiObject("pods", "b", "22"))
		s.want(event.KindPod, "listing", "listed a", "synced", "added b")
		s.want(event.KindService, "listing", "listed web", "synced")
	})
}

// TestObjectThatCannotBeRead checks that an unreadable object makes its resource unwatchable. This must be logged once
// for the watch and once for the list, and both must be retried with a back-off.
func TestObjectThatCannotBeRead(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5")}
		s.start()
		s.want(event.KindPod, "listing", "listed a", "synced")
		s.api.set(func() {
			s.api.objects["pods"] = append(s.api.objects["pods"], broken())
			s.api.first = map[string]string{"pods": frame("MODIFIED", broken())}
		})
		s.api.stream("pods").send("MODIFIED", broken())
		time.Sleep(10 * time.Minute)
		s.wantLog(2, "WARN", "resource=pods")
		s.wantLog(0, "INFO", "is working again")
		if asked := len(s.api.asked("watch pods")) + len(s.api.asked("list pods")); asked > 400 {
			t.Errorf("asked %d times in 10 minutes", asked)
		}
	})
}

// TestListThatBreaksOffAnywhere checks that changes during a truncated list are not passed on, because they will appear
// in the next list.
func TestListThatBreaksOffAnywhere(t *testing.T) {
	expired := errorFrame(410, metav1.StatusReasonExpired, "too old resource version")
	changes := []string{frame("MODIFIED", apiObject("pods", "a", "11")), frame("DELETED", apiObject("pods", "b", "12"))}
	for _, c := range []struct {
		name    string
		objects []*runtime.Unknown
		during  []string
		want    []string
	}{
		{"before the first object", nil, nil, []string{"listing", "down ended", "listing", "listed a", "synced"}},
		{"before the first object, because it expired", nil, []string{expired}, []string{"listing", "down expired", "listing", "listed a", "synced"}},
		{
			"between the last object and the bookmark", threePods(), nil,
			[]string{"listing", "listed a", "listed b", "listed c", "down ended", "listing", "listed a", "synced"},
		},
		{
			"after changes", threePods(), changes,
			[]string{"listing", "listed a", "listed b", "listed c", "down ended", "listing", "listed a", "synced"},
		},
		{
			"after changes, because it expired", threePods(), append(changes[:2:2], expired),
			[]string{"listing", "listed a", "listed b", "listed c", "down expired", "listing", "listed a", "synced"},
		},
		{
			"with half an object", threePods(),
			[]string{frame("ADDED", apiObject("pods", "d", "12"))[:20]},
			[]string{"listing", "listed a", "listed b", "listed c", "down ended", "listing", "listed a", "synced"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(_ *testing.T, s *session) {
				s.api.objects["pods"], s.api.during, s.api.breaksOff = c.objects, map[string][]string{"pods": c.during}, "pods"
				s.onEvent = func(text string) {
					if text == "down ended" || text == "down expired" {
						s.api.set(func() { s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "11")} })
					}
				}
				s.start()
				time.Sleep(30 * time.Second)
				s.want(event.KindPod, c.want...)
				s.api.stream("pods").send("ADDED", apiObject("pods", "d", "30"))
				s.want(event.KindPod, "added d")
			})
		})
	}
}

// TestStopWhileAListIsCaughtUpWith stops the watch while it sends the changes that arrived during its list.
func TestStopWhileAListIsCaughtUpWith(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.api.objects["pods"] = threePods()
		s.api.during = map[string][]string{"pods": {
			frame("MODIFIED", apiObject("pods", "a", "11")), frame("MODIFIED", apiObject("pods", "a", "12")), frame("MODIFIED", apiObject("pods", "a", "13")),
		}}
		s.onEvent = func(text string) {
			if text == "modified a" {
				s.stop()
			}
		}
		s.start()
		if err := <-s.ran; err != nil {
			t.Error(err)
		}
	})
}
