package track

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestLastLossHasTheKnownCause removes two addresses with one write. The cause of one of the losses is known.
func TestLastLossHasTheKnownCause(t *testing.T) {
	for _, gone := range []string{"web-1", "web-2"} {
		s := newStory(t, grace40)
		s.starts(aService("web", true), slice("web", "web", "web-1", "web-2", "web-3"), aPod("web-1", ready), aPod("web-2", ready), aPod("web-3", ready))
		s.at(100).deleted(aPod(gone, ready))
		s.at(100.1).modified(slice("web", "web", "web-3"))
		s.at(120).Advance(s.now)
		equal(t, gone, s.service("web").LastCause, cause.PodDeleted)
	}
}

// TestPodThatIsDeletedTwice deletes a pod that an outdated list had left out and that was shown again.
func TestPodThatIsDeletedTwice(t *testing.T) {
	p := aPod("web-1", ready)
	s := newStory(t, grace40)
	s.starts(aService("web", true), p, aPod("web-2", ready), slice("web", "web", "web-1", "web-2"))
	s.at(10).deleted(p)
	s.at(30).added(p)
	s.at(35).deleted(p)
	s.at(42).modified(slice("web", "web", "web-2"))
	s.at(60).Advance(s.now)
	all := of[transition.AddressLost](s)
	if len(all) != 1 || all[0].Cause != cause.PodDeleted || all[0].Pod.Name != "web-1" {
		t.Errorf("losses %v", all)
	}
}

// TestManyContainers replaces the fifth container of a pod. The first one was killed long ago.
func TestManyContainers(t *testing.T) {
	var before []event.Container
	for _, name := range []string{"app", "b", "c", "d", "proxy"} {
		before = append(before, event.Container{Name: name, Image: "x:1", ID: "id-" + name, State: "running", Ready: true})
	}
	before[0].Restarts, before[0].LastReason, before[0].LastExitCode = 1, "OOMKilled", 137
	after := append([]event.Container{}, before...)
	last := &after[4]
	last.ID, last.Restarts, last.Ready, last.LastReason, last.LastExitCode, last.Started = "id-2", 1, false, "Error", 1, clock(99)
	s := newStory(t, grace40)
	s.starts(aPod("web-1", ready, before...))
	p := aPod("web-1", event.StatusFalse, after...)
	p.Ready.Reason, p.Ready.LastTransitionTime = "ContainersNotReady", clock(100)
	s.at(100).modified(p)
	s.Settle()
	all := of[transition.PodReadyChanged](s)
	if len(all) != 1 || all[0].Cause != cause.ContainerExit || strings.Contains(all[0].Why, "app") || !strings.Contains(all[0].Why, "proxy") {
		t.Errorf("changes %v, want an exit of the container proxy", all)
	}
}

// TestReadyPodWithoutANode shows that a lost node without pods is not the node of a pod without one.
func TestReadyPodWithoutANode(t *testing.T) {
	p := aPod("web-1", ready)
	p.Node = ""
	s := newStory(t, grace40)
	s.starts(aNode("a", ready, 0), aNode("b", ready, 0), lease("a", 0), lease("b", 0), p)
	for at := 10.0; at < 200; at += 10 {
		s.at(at).modified(lease("b", at))
	}
	for _, n := range s.Namespaces(s.now, nil) {
		equal(t, n.Name, n.ReadyOnLostNode, 0)
	}
}

// TestImageChangesRightAfterTheStart changes the images of two pods a second after the Service was listed. Its slice was listed
// before it, and the lists ended a little later. Then one address leaves.
func TestImageChangesRightAfterTheStart(t *testing.T) {
	container := func(image string) event.Container {
		return event.Container{Name: "app", Image: image, ID: "a", State: "running", Ready: true}
	}
	s := newStory(t, grace40)
	s.lists(event.KindPod, aPod("web-1", ready, container("x:1")), aPod("web-2", ready, container("x:1")))
	s.watch(event.Listing, event.KindService, event.KindEndpointSlice)
	s.is(event.Listed, slice("web", "web", "web-1", "web-2"), aService("web", true))
	s.at(0.2).watch(event.Synced, event.KindService, event.KindEndpointSlice)
	s.at(1.1).modified(aPod("web-1", ready, container("x:2")), aPod("web-2", ready, container("x:2")))
	s.at(2).modified(slice("web", "web", "web-2"))
	equal(t, "stale re-adds", count[transition.ConsumerMistake](s), 1)
}

// TestRevisionsAreForgotten rolls out one revision after the other, day after day. Beside a pod that stays, the tracker must
// not hold more memory afterwards.
func TestRevisionsAreForgotten(t *testing.T) {
	const rollouts = 20000
	s, before := newStory(t, grace40).starts(aPod("stays", ready)), uint64(0)
	for i := range 2 * rollouts {
		if i == rollouts {
			before = heapInUse()
		}
		p := aPod(fmt.Sprintf("web-%d-x", i), ready, running("app:1", 0))
		p.Owner, p.Labels = fmt.Sprintf("ReplicaSet/web-%d", i), map[string]string{"pod-template-hash": fmt.Sprint(i)}
		s.at(float64(600 * i)).added(p).at(float64(600*i + 300)).deleted(p)
		s.found = nil
	}
	if more := int64(heapInUse() - before); more > 8*rollouts {
		t.Errorf("%d bytes more after %d revisions", more, rollouts)
	}
	runtime.KeepAlive(s)
}
