package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

// pendingPod returns a pod of the Service app that is not running yet, because it lacks a node, a volume or an image.
func pendingPod(name, app string) *event.Pod {
	p := aPod(name, event.StatusUnknown)
	p.Phase, p.Node, p.Ready = "Pending", "", nil
	p.Labels = map[string]string{"app": app, "pod-template-hash": "5d4"}
	return p
}

func TestPendingPodsOfAServiceWithoutAReadyAddress(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), aService("api", true), aService("manual", false))
	pending := func(name string) int { return s.service(name).PendingPods }
	s.added(pendingPod("web-1", "web"), pendingPod("web-2", "web"), pendingPod("api-1", "api"))
	equal(t, "two on their way", pending("web"), 2)
	equal(t, "of another Service", pending("api"), 1)
	equal(t, "without a selector", pending("manual"), 0)

	running := aPod("web-1", ready)
	running.Labels = map[string]string{"app": "web"}
	s.at(10).modified(running)
	equal(t, "one runs", pending("web"), 1)
	s.added(slice("a", "web", "web-1"))
	equal(t, "and is ready", pending("web"), 0)
	s.at(20).modified(slice("a", "web", "-web-1"))
	equal(t, "not ready", pending("web"), 1)
	s.at(30).deleted(pendingPod("web-2", "web"))
	equal(t, "deleted", pending("web"), 0)

	leaving := pendingPod("api-1", "api")
	leaving.DeletionTimestamp = s.now
	s.modified(leaving)
	equal(t, "terminating", pending("api"), 0)
	unknown := pendingPod("api-2", "api")
	unknown.Labels = nil
	s.added(unknown)
	equal(t, "with unknown labels", pending("api"), 0)
}

func TestPendingPodsFollowTheSelector(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true)).added(pendingPod("web-1", "web"))
	other := aService("web", true)
	other.Selector = map[string]string{"app": "web", "track": "blue"}
	s.modified(other)
	equal(t, "another label", s.service("web").PendingPods, 0)
	s.modified(aService("web", false))
	equal(t, "no selector", s.service("web").PendingPods, 0)
	s.modified(aService("web", true))
	equal(t, "again", s.service("web").PendingPods, 1)
	blue := pendingPod("web-1", "blue")
	s.modified(blue)
	equal(t, "another label of the pod", s.service("web").PendingPods, 0)
}
