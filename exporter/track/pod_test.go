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

func TestUpdatesInPlaceAndSilentRestarts(t *testing.T) {
	first := running("app:1", 0)
	sidecar := event.Container{Name: "sidecar", Image: "proxy:7", Restarts: 3}
	gated, gatedAfter := aPod("web-1", ready, first), aPod("web-1", ready, running("app:2", 0))
	gated.Gates, gatedAfter.Gates = 1, 1
	pending := aPod("web-1", notReady, first)
	pending.Phase = "Pending"
	for name, test := range map[string]struct {
		before *event.Pod
		after  []*event.Pod
		want   pods.Counts
	}{
		"an update with a silent restart": {aPod("web-1", ready, first), []*event.Pod{aPod("web-1", ready, running("app:2", 0)), aPod("web-1", ready, running("app:2", 1))}, pods.Counts{InPlaceUpdates: 1, UngatedUpdates: 1, SilentRestarts: 1}},
		"an update with a readiness gate": {gated, []*event.Pod{gatedAfter}, pods.Counts{InPlaceUpdates: 1}},
		"a pod that is not running yet":   {pending, []*event.Pod{aPod("web-1", ready, running("app:2", 0))}, pods.Counts{}},
		"Ready shows the restart":         {aPod("web-1", ready, first), []*event.Pod{aPod("web-1", notReady, first), aPod("web-1", ready, running("app:1", 1))}, pods.Counts{Unready: 1}},
		"a restart that ends not ready":   {aPod("web-1", ready, first), []*event.Pod{aPod("web-1", notReady, running("app:1", 1))}, pods.Counts{Unready: 1}},
		"containers in another order":     {aPod("web-1", ready, first, sidecar), []*event.Pod{aPod("web-1", ready, sidecar, first)}, pods.Counts{}},
		"a runtime that lost its state":   {aPod("web-1", ready, running("app:1", 4)), []*event.Pod{aPod("web-1", ready, first)}, pods.Counts{}},
	} {
		s := newStory(t, grace40).starts(test.before)
		for i, p := range test.after {
			s.at(float64(10 + i)).modified(p)
		}
		got := s.inShop()
		got.Transitions = test.want.Transitions // other tests check them
		equal(t, name, got, test.want)
	}
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
