package track

import (
	"slices"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func (s *story) breaks(reason event.Reason, kinds ...event.Kind) *story {
	for _, k := range kinds {
		s.Apply(event.Event{Seen: s.now, Kind: k, Type: event.Down, Reason: reason})
	}
	return s
}

func (s *story) blind(k event.Kind) float64 {
	for _, w := range s.Watches(s.now, nil) {
		if w.Resource == k {
			return seconds(w.Blind)
		}
	}
	return -1
}

func TestBreakOfADeadConnectionBeganWithItsLastSignOfLife(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(55).breaks("connection lost", event.KindLease)
	s.at(60).watch(event.Up, event.KindLease)
	equal(t, "blind", s.blind(event.KindLease), 50)
	s = newStory(t, grace40).starts(lease("node-1", 0))
	s.at(55).breaks("connection refused", event.KindLease)
	s.at(60).watch(event.Up, event.KindLease)
	equal(t, "blind after a break that showed at once", s.blind(event.KindLease), 5)
}

func TestBreakThatLosesNothingIsNoBlindness(t *testing.T) {
	s := newStory(t, grace40).starts()
	s.at(300).breaks("ended", event.KindPod)
	s.at(300.1).watch(event.Up, event.KindPod)
	equal(t, "blind", s.blind(event.KindPod), 0)
}

func TestWhatABrokenWatchDeliversLateHasNoLength(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), aService("web", true), slice("a", "web", "web-1"))
	s.at(10).breaks("connection refused", event.KindNode, event.KindEndpointSlice)
	s.at(40).watch(event.Up, event.KindNode, event.KindEndpointSlice)
	s.modified(aNode("node-1", notReady, 12), aNode("node-1", ready, 22))
	s.modified(slice("a", "web", "-web-1"), slice("a", "web", "web-1"))
	s.at(45)
	equal(t, "turned not ready", s.node("node-1").Turned[event.StatusFalse], 1)
	equal(t, "outages", s.service("web").Outages, 1)
	equal(t, "bounces: it was away for 30 s at most", s.service("web").Bounces, 1)
	for _, x := range of[transition.OutageEnded](s) {
		equal(t, "complete", x.Complete, false)
	}
	for _, x := range of[transition.AddressBounced](s) {
		equal(t, "away", x.String(), "service shop/web: address 10.0.0.1 is back in rotation after at most 30s")
	}
	for _, x := range of[transition.NodeReadyChanged](s) {
		equal(t, "complete, not from Ready", x.Complete && x.From != ready, false)
	}
}

func TestAddressThatMayHaveBeenAwayForLongerThanTheWindowIsNoBounce(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"))
	s.at(10).breaks("connection refused", event.KindEndpointSlice)
	s.at(200).watch(event.Up, event.KindEndpointSlice)
	s.modified(slice("a", "web", "-web-1"), slice("a", "web", "web-1"))
	equal(t, "bounces", s.service("web").Bounces, 0)
}

func TestStartOfANodeIsNoEpisode(t *testing.T) {
	s := newStory(t, grace40).starts()
	s.at(10).added(aNode("node-2", notReady, 10))
	s.at(12).modified(aNode("node-2", ready, 12))
	s.at(20).modified(aNode("node-2", notReady, 20))
	s.at(25).modified(aNode("node-2", ready, 25))
	var complete []float64
	for _, x := range of[transition.NodeReadyChanged](s) {
		if x.Complete && x.From != ready {
			complete = append(complete, seconds(x.Lasted))
		}
	}
	if len(complete) != 1 || complete[0] != 5 {
		t.Errorf("complete episodes %v, want the second, of 5 s", complete)
	}
}

func TestWithoutLeasesNothingIsSaidOfHeartbeats(t *testing.T) {
	s := newStory(t, grace40)
	s.watch(event.Unavailable, event.KindLease)
	s.lists(event.KindNode, aNode("node-1", ready, -100))
	s.at(100)
	equal(t, "known", s.node("node-1").HeartbeatKnown, false)
}

func TestAddressesOfANewServiceDoNotFollowPodsThatTurnedBeforeIt(t *testing.T) {
	s := newStory(t, grace40).starts(aPod("web-1", notReady, running("app:1", 0)))
	s.at(10).modified(aPod("web-1", ready, running("app:1", 0)))
	s.at(20).added(aService("web", true), slice("a", "web", "web-1"))
	equal(t, "propagations", count[transition.AddressFollowedPod](s), 0)
}

func TestControllerManagerOfAnotherClusterIsNotBelieved(t *testing.T) {
	elsewhere := controllerManager("m", "v1.36.3", 2e9)
	elsewhere.Namespace = "tenant-7"
	pending := controllerManager("n", "v1.36.3", 2e9)
	pending.Phase = "Pending"
	s := newStory(t, Settings{}).added(server("v1.36.3"), elsewhere, pending)
	equal(t, "source", s.GracePeriod().Source, controlplane.SourceDefault)
}

// TestAListShowsThatHeartbeatsResumed lists Leases after a break in which a lost node may have returned. The list shows
// that the node returned, but not when.
func TestAListShowsThatHeartbeatsResumed(t *testing.T) {
	for name, c := range map[string]struct {
		listed float64
		want   []float64
	}{
		"the node returned in the break":   {85, []float64{85}},
		"the node is still silent":         {10, nil},
		"the node's clock was set forward": {500, []float64{90}},
	} {
		s := newStory(t, grace40).starts(aNode("node-1", ready, 0), aNode("node-2", ready, 0), lease("node-1", 0), lease("node-2", 0))
		s.at(10).modified(lease("node-1", 10), lease("node-2", 10))
		s.at(60).modified(lease("node-2", 60))
		s.at(70).breaks(event.ReasonRefused, event.KindLease)
		s.at(90).lists(event.KindLease, lease("node-1", c.listed), lease("node-2", 89))
		var got []float64
		for _, x := range of[transition.HeartbeatsResumed](s) {
			got = append(got, x.Time.Sub(zero).Seconds())
			equal(t, name+": found", x.FoundAt().Sub(zero).Seconds(), 90)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: resumed at %v, want %v", name, got, c.want)
		}
	}
}
