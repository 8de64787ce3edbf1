package watch

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kubeflap/kubeflap/exporter/event"
)

func TestWatch(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5"), apiObject("pods", "b", "6")}
		s.start()
		s.want(event.KindPod, "listing", "listed a", "listed b", "synced")
		s.want(event.KindService, "listing", "synced")
		s.want(event.KindCluster, "listed")

		pods := s.api.stream("pods")
		pods.send("ADDED", apiObject("pods", "c", "21"))
		pods.send("MODIFIED", apiObject("pods", "a", "22"))
		pods.send("BOOKMARK", bookmark("pods", "30"))
		pods.send("DELETED", apiObject("pods", "b", "31"))
		s.want(event.KindPod, "added c", "modified a", "bookmark", "deleted b")

		s.stop()
		s.want(event.KindPod)
	})
}

func TestControlPlaneLeases(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		const kind = "controlplaneleases"
		s.api.objects[kind] = []*runtime.Unknown{
			apiObject(kind, "kube-controller-manager", "5"), apiObject(kind, "some-operator", "6"), apiObject(kind, "apiserver-abc", "7"),
		}
		s.start()
		s.want(event.KindControlPlaneLease, "listing", "listed kube-controller-manager", "listed apiserver-abc", "synced")
		s.want(event.KindLease, "listing", "synced")
		s.api.set(func() {
			if got, want := s.api.paths[kind], "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"; got != want {
				t.Errorf("they were asked for at %s, want %s", got, want)
			}
		})

		leases := s.api.stream(kind)
		leases.send("MODIFIED", apiObject(kind, "kube-controller-manager", "21"))
		leases.send("MODIFIED", apiObject(kind, "some-operator", "22"))
		leases.send("ADDED", apiObject(kind, "kube-scheduler", "23"))
		leases.send("DELETED", apiObject(kind, "apiserver-abc", "24"))
		leases.send("ADDED", apiObject(kind, "kube-scheduler-simulator", "25"))
		s.want(event.KindControlPlaneLease, "modified kube-controller-manager", "added kube-scheduler", "deleted apiserver-abc")
	})
}

func TestWatchEnds(t *testing.T) {
	for _, c := range []struct {
		name string
		// happen ends the pod watch.
		happen   func(s *session)
		want     []string
		warnings int
		// from is the version at which the next watch starts.
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
			1, "resourceVersion=10",
		},
		{
			"in the middle of an event",
			func(s *session) {
				s.api.stream("pods").write(frame("MODIFIED", apiObject("pods", "a", "23"))[:20])
				close(s.api.stream("pods").end)
			},
			[]string{"down ended", "up"},
			0, "resourceVersion=22",
		},
		{
			"with an error of the server's, and goes on where it was",
			func(s *session) {
				s.api.stream("pods").write(errorFrame(500, metav1.StatusReasonInternalError, ""))
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
			"and a server that has just started refuses for 20 seconds",
			func(s *session) { s.refusePods(403, 20*time.Second) },
			[]string{"down ended", "down forbidden", "up"},
			1, "resourceVersion=22",
		},
		{
			"and a proxy without its server has nothing for 10 minutes",
			func(s *session) { s.refusePods(404, 10*time.Minute) },
			[]string{"down ended", "down absent", "up"},
			1, "resourceVersion=22",
		},
		{
			"because the permission was withdrawn, and granted again",
			func(s *session) { s.refusePods(403, 20*time.Minute); time.Sleep(time.Minute) },
			[]string{"down ended", "down forbidden", "unavailable forbidden", "listing", "listed a", "synced"},
			1, "resourceVersion=10",
		},
		{
			"because an event is unreadable: the next watch would begin with it",
			func(s *session) { s.api.stream("pods").send("MODIFIED", broken()) },
			[]string{"down unreadable answer", "listing", "listed a", "synced"},
			1, "resourceVersion=10",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, s *session) {
				s.api.objects["pods"] = []*runtime.Unknown{apiObject("pods", "a", "5")}
				s.start()
				s.api.stream("pods").send("MODIFIED", apiObject("pods", "a", "22"))
				s.want(event.KindPod, "listing", "listed a", "synced", "modified a")

				c.happen(s)
				time.Sleep(30 * time.Second)
				s.unrepeat(event.KindPod)
				s.want(event.KindPod, c.want...)
				s.wantLog(c.warnings, "WARN", "the watch failed, retrying\" resource=pods")
				s.wantLog(c.warnings, "INFO", `is working again" resource=pods`)
				queries := s.api.asked("watch pods")
				if last := queries[len(queries)-1]; !strings.Contains(last, c.from) {
					t.Errorf("the watch went on with %s, not %s", last, c.from)
				}
			})
		})
	}
}

func TestEventsAfterAResumedWatch(t *testing.T) {
	inBubble(t, func(_ *testing.T, s *session) {
		s.start()
		s.want(event.KindPod, "listing", "synced")
		time.Sleep(50 * time.Second)
		close(s.api.stream("pods").end)
		pods := s.api.stream("pods")
		pods.send("ADDED", apiObject("pods", "a", "21"))
		pods.send("ADDED", apiObject("pods", "b", "22"))
		s.want(event.KindPod, "down ended", "up", "added a", "added b")
	})
}

func TestStopWhileNothingAnswers(t *testing.T) {
	for _, answersFirst := range []bool{false, true} {
		inBubble(t, func(t *testing.T, s *session) {
			s.api.down = !answersFirst
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
}

func TestVersionIsAskedForAgain(t *testing.T) {
	inBubble(t, func(t *testing.T, s *session) {
		s.start()
		time.Sleep(versionPeriod)
		s.want(event.KindCluster, "listed") // the version is the same, so there is only one event
		if asked := len(s.api.asked("list version")); asked != 2 {
			t.Errorf("asked %d times", asked)
		}
		s.api.set(func() { s.api.version = "v1.37.0" })
		time.Sleep(versionPeriod)
		s.want(event.KindCluster, "listed")
	})
}
