package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func running(image string, restarts int32) event.Container {
	return event.Container{Name: "app", Image: image, Restarts: restarts, State: "running", Ready: true}
}

func (s *story) inShop() pods.Counts {
	s.t.Helper()
	for _, n := range s.Namespaces(s.now, nil) {
		if n.Name == "shop" {
			return n.Counts
		}
	}
	s.t.Fatal("nothing is counted of the namespace shop")
	return pods.Counts{}
}

func TestInPlaceUpdateOfAReadyPodThatRestartsSilently(t *testing.T) {
	s := newStory(t, grace40).starts(aPod("web-1", ready, running("app:1", 0)))
	equal(t, "at the start", s.inShop(), pods.Counts{})
	s.at(10).modified(aPod("web-1", ready, running("app:2", 0)))
	s.at(12).modified(aPod("web-1", ready, running("app:2", 1)))
	equal(t, "both counted", s.inShop(), pods.Counts{InPlaceUpdates: 1, UngatedUpdates: 1, SilentRestarts: 1})
}

func TestInPlaceUpdateOfAPodWithAReadinessGateIsNotUngated(t *testing.T) {
	before, after := aPod("web-1", ready, running("app:1", 0)), aPod("web-1", ready, running("app:2", 0))
	before.Gates, after.Gates = 1, 1
	s := newStory(t, grace40).starts(before)
	s.at(10).modified(after)
	equal(t, "counted", s.inShop(), pods.Counts{InPlaceUpdates: 1})
}

func TestRestartThatReadyShowsIsNotSilent(t *testing.T) {
	s := newStory(t, grace40).starts(aPod("web-1", ready, running("app:1", 0)))
	s.at(10).modified(aPod("web-1", notReady, running("app:1", 0)))
	s.at(11).modified(aPod("web-1", ready, running("app:1", 1)))
	equal(t, "silent restarts", s.inShop().SilentRestarts, 0)
}

func TestImageOfAPodThatDoesNotRunYetIsNoInPlaceUpdate(t *testing.T) {
	pending := aPod("web-1", notReady, running("app:1", 0))
	pending.Phase = "Pending"
	s := newStory(t, grace40).starts(pending)
	s.at(10).modified(aPod("web-1", ready, running("app:2", 0)))
	equal(t, "in-place updates", s.inShop().InPlaceUpdates, 0)
}

func TestPodsGoAndTheirNamespaceWithThem(t *testing.T) {
	s := newStory(t, grace40).starts(aPod("web-1", ready), aPod("web-2", ready))
	s.at(10).deleted(aPod("web-1", ready))
	equal(t, "namespaces while a pod is left", len(s.Namespaces(s.now, nil)), 1)
	s.at(20).lists(event.KindPod)
	s.at(40 + 3600)
	equal(t, "namespaces", len(s.Namespaces(s.now, nil)), 0)
	equal(t, "pods", kept(s.pods, "pods"), 0)
}

func TestRelistOfPodsProvesNothing(t *testing.T) {
	s := newStory(t, grace40).starts(aPod("web-1", ready, running("app:1", 0)))
	s.at(10).watch(event.Down, event.KindPod)
	s.at(60).lists(event.KindPod, aPod("web-1", ready, running("app:2", 1)))
	equal(t, "counted", s.inShop(), pods.Counts{})
	s.at(61).modified(aPod("web-1", ready, running("app:2", 2)))
	equal(t, "counted from then on", s.inShop(), pods.Counts{SilentRestarts: 1})
}

func TestRestartThatEndsNotReadyIsNotSilent(t *testing.T) {
	s := newStory(t, grace40).starts(aPod("web-1", ready, running("app:1", 0)))
	s.at(10).modified(aPod("web-1", notReady, running("app:1", 1)))
	equal(t, "silent restarts", s.inShop().SilentRestarts, 0)
}

func TestContainersAreToldApartByTheirNames(t *testing.T) {
	sidecar := event.Container{Name: "sidecar", Image: "proxy:7", Restarts: 3}
	s := newStory(t, grace40).starts(aPod("web-1", ready, running("app:1", 0), sidecar))
	s.at(10).modified(aPod("web-1", ready, sidecar, running("app:1", 0)))
	equal(t, "in another order", s.inShop(), pods.Counts{})
}

func TestRestartsThatFallAreNoRestart(t *testing.T) {
	// A container runtime that has lost its state restarts the count.
	s := newStory(t, grace40).starts(aPod("web-1", ready, running("app:1", 4)))
	s.at(10).modified(aPod("web-1", ready, running("app:1", 0)))
	equal(t, "silent restarts", s.inShop().SilentRestarts, 0)
}

// TestPodIsToldOfByItsNameWhoeverOwnsIt checks that no owner changes a pod's name, although the owner's part of the
// name is stored only once.
func TestPodIsToldOfByItsNameWhoeverOwnsIt(t *testing.T) {
	for _, owner := range []string{"", "ReplicaSet/web-5d4f", "ReplicaSet/other", "Node/web-5d4f-abcde", "DaemonSet/", "web-5d4f"} {
		for _, later := range []string{owner, "", "ReplicaSet/web-5d4f", "Job/web"} {
			before, after := aPod("web-5d4f-abcde", ready), aPod("web-5d4f-abcde", notReady)
			before.Owner, after.Owner = owner, later
			s := newStory(t, grace40).starts(before)
			s.at(10).modified(after).at(20).modified(before)
			for i, want := range []string{owner, later} {
				all := of[transition.PodReadyChanged](s)
				x := all[len(all)-2+i]
				equal(t, "pod of "+owner+", then of "+later, x.Name, "web-5d4f-abcde")
				equal(t, "its owner", x.Owner, want)
			}
		}
	}
}
