package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestAWatchIsKnownToLagWhenItShowsAWriteAfterALaterOne(t *testing.T) {
	s := webStory(t)
	for at := 10; at < 40; at++ {
		s.at(float64(at)).modified(version(1000+at, lease("node-1", float64(at))))
	}
	s.at(39.1).modified(version(1039, aPod("web-1", ready, running("app:1", 0))))
	equal(t, "pods, in order", s.watches.LaggingUntil(event.KindPod).After(s.now), false)
	s.at(39.2).modified(version(1038, aNode("node-1", ready, -100)))
	equal(t, "nodes, a write that was a second old when a later one was seen 0.2 s ago", s.watches.LaggingUntil(event.KindNode).After(s.now), false)
	s.at(39.6).modified(version(1037, aNode("node-1", ready, -100)))
	equal(t, "nodes, 1.6 s behind", s.watches.LaggingUntil(event.KindNode).After(s.now), true)
	equal(t, "long after", s.watches.LaggingUntil(event.KindNode).After(clock(400)), false)
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

func TestRewriteThatChangesNoReadinessCountsNothingAndAllocatesNothing(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1", "web-2"), aPod("web-1", ready))
	again := event.Event{Seen: s.now, Kind: event.KindEndpointSlice, Type: event.Modified, Object: slice("a", "web", "web-1", "web-2")}
	before := s.service("web")
	equal(t, "allocations", testing.AllocsPerRun(100, func() { s.Apply(again) }), 0)
	equal(t, "the Service", s.service("web"), before)
	equal(t, "findings", len(s.transitions()), 0)
}

// TestPodEventInALargeFamilyAllocatesNothing has a StatefulSet with a Service for each pod. Only the Service of the pod matters.
func TestPodEventInALargeFamilyAllocatesNothing(t *testing.T) {
	for _, services := range []int{2, 200} {
		f, last := aFamily(services, 1)
		e := event.Event{Seen: clock(60), Kind: event.KindPod, Type: event.Modified, Object: last}
		equal(t, "allocations", testing.AllocsPerRun(100, func() { f.Apply(e) }), 0)
	}
}

// TestNothingIsLeftBehind checks that the tracker keeps nothing of what is gone.
func TestNothingIsLeftBehind(t *testing.T) {
	second, fresh, never := aService("web", true), slice("b", "web", "web-1"), slice("c", "web", "web-1")
	second.UID, fresh.Owner, never.Owner = id("second"), id("second"), id("second")
	byHand := grace40
	byHand.AddressSource = event.KindEndpoints
	node := func() *story {
		return newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0)).at(10)
	}
	web := func() *story {
		return newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1")).at(10)
	}
	left := newStory(t, Settings{}).starts(aService("web", true), slice("a", "web", "web-1", "web-2")).at(10).modified(slice("a", "web", "web-2"))
	equal(t, "remembered addresses", kept(left.services, "all.any.recent"), 1)
	for what, c := range map[string]struct {
		s      *story
		part   func(s *story) any
		fields []string
	}{
		"a node":              {node().deleted(aNode("node-1", ready, 0)).deleted(lease("node-1", 0)).at(700), ofNodes, []string{"nodes"}},
		"a node, Lease first": {node().lists(event.KindLease).deleted(aNode("node-1", ready, 0)).at(700), ofNodes, []string{"nodes"}},
		"an unknown node":     {newStory(t, grace40).starts().deleted(aNode("node-1", ready, 0)), ofNodes, []string{"nodes"}},
		"pods":                {newStory(t, grace40).starts(aPod("web-1", ready), aPod("web-2", ready)).at(10).deleted(aPod("web-1", ready)).at(20).lists(event.KindPod).at(100), ofPods, []string{"pods.live", "families.live", "nodeNames.live", "pasts.live"}},
		"a Service":           {web().lists(event.KindService).lists(event.KindEndpointSlice), ofServices, []string{"all", "sources", "waiting"}},
		"a Service and its successor": {
			web().added(fresh).deleted(aService("web", true)).added(second).deleted(slice("a", "web", "web-1")).deleted(second, fresh), ofServices, []string{"all", "sources", "waiting"},
		},
		"a slice of a Service that never came": {web().added(never).deleted(never, aService("web", true), slice("a", "web", "web-1")), ofServices, []string{"all", "sources", "waiting"}},
		"manually managed Endpoints": {
			newStory(t, byHand).starts(aService("db", false), handWritten("db", "192.0.2.1")).at(20).lists(event.KindEndpoints), ofServices, []string{"sources"},
		},
		"addresses that left long ago": {left.at(145), ofServices, []string{"all.any.recent"}},
	} {
		c.s.Advance(c.s.now)
		for _, field := range c.fields {
			equal(t, what+": "+field, kept(c.part(c.s), field), 0)
		}
	}
}

func ofNodes(s *story) any    { return s.nodes }
func ofPods(s *story) any     { return s.pods }
func ofServices(s *story) any { return s.services }
