package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/nodes"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

const (
	ready    = event.StatusTrue
	notReady = event.StatusFalse
	unknown  = event.StatusUnknown
)

var grace40 = Settings{GracePeriod: 40 * time.Second}

func TestHeartbeatIsCountedWhenSeenWhateverTheNodesClockSays(t *testing.T) {
	const anHourBehind = -3600
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", anHourBehind))
	s.at(5).modified(lease("node-1", anHourBehind+5))
	s.at(15).modified(lease("node-1", anHourBehind+15))
	s.at(18)
	n := s.node("node-1")
	equal(t, "heartbeats", n.Heartbeats, 2)
	equal(t, "age", seconds(n.HeartbeatAge), 3)
	equal(t, "longest interval", seconds(n.LongestInterval), 10)
	equal(t, "late", n.LateHeartbeats, 0)
}

func TestFirstListTakesTheAgeFromRenewTimeButNeverANegativeOne(t *testing.T) {
	s := newStory(t, grace40).starts(
		aNode("slow", ready, 0), lease("slow", -7),
		aNode("ahead", ready, 0), lease("ahead", 3600))
	equal(t, "age of the one that renewed 7 s ago", seconds(s.node("slow").HeartbeatAge), 7)
	equal(t, "age of the one whose clock is ahead", seconds(s.node("ahead").HeartbeatAge), 0)
	equal(t, "heartbeats", s.node("slow").Heartbeats, 0)
	// The interval that began before the start is not measured.
	s.at(3).modified(lease("slow", 3))
	equal(t, "measured intervals", count[transition.HeartbeatSeen](s), 0)
}

func TestHeartbeatCountsAsLateAtTheMomentItIsLate(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(30)
	equal(t, "late at exactly half of the grace period", s.node("node-1").LateHeartbeats, 0)
	s.at(31.001)
	equal(t, "late after it, when it is known that none came", s.node("node-1").LateHeartbeats, 1)
	equal(t, "missed by then", s.node("node-1").MissedHeartbeats, 0)
	s.at(51.001)
	equal(t, "missed after the grace period", s.node("node-1").MissedHeartbeats, 1)
	s.at(75).modified(lease("node-1", 75))
	n := s.node("node-1")
	equal(t, "late after it came at last", n.LateHeartbeats, 1)
	equal(t, "missed after it came at last", n.MissedHeartbeats, 1)
	equal(t, "longest interval", seconds(n.LongestInterval), 65)
	var at []time.Time
	for _, x := range s.transitions() {
		switch x.(type) {
		case transition.HeartbeatLate, transition.HeartbeatMissed:
			at = append(at, x.When())
		}
	}
	if len(at) != 2 || !at[0].Equal(clock(30)) || !at[1].Equal(clock(50)) {
		t.Errorf("reported late and missed at %v, want at 30 s and 50 s", at)
	}
}

func TestLateHeartbeatsAreTheSameHoweverOftenTheFoldIsAsked(t *testing.T) {
	play := func(step float64) nodes.Node {
		s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
		next := 0.0
		for _, renewed := range []float64{10, 35, 36, 80, 200} {
			for ; step > 0 && next < renewed; next += step {
				s.Advance(clock(next))
			}
			s.at(renewed).modified(lease("node-1", renewed))
		}
		return s.node("node-1")
	}
	equal(t, "asked at events only and every 100 ms", play(0), play(0.1))
	equal(t, "late", play(0).LateHeartbeats, 3)
	equal(t, "missed", play(0).MissedHeartbeats, 2)
}

func TestClockThatSteppedBackRenewsInVainUntilTheStatusIsReported(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	for _, at := range []float64{20, 30, 40, 50, 60} {
		s.at(at).modified(lease("node-1", at-3600))
	}
	n := s.node("node-1")
	equal(t, "heartbeats", n.Heartbeats, 1)
	equal(t, "missed: the flap it will cause", n.MissedHeartbeats, 1)
	reported := aNode("node-1", ready, 0)
	reported.Ready.LastHeartbeatTime = clock(65 - 3600)
	s.at(65).modified(reported)
	s.at(70).modified(lease("node-1", 70-3600))
	equal(t, "heartbeats after the status report healed it", s.node("node-1").Heartbeats, 3)
}

func TestNothingIsLateWhileTheLeaseWatchIsBroken(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(15).watch(event.Down, event.KindLease)
	s.at(100)
	equal(t, "late while blind", s.node("node-1").LateHeartbeats, 0)
	equal(t, "age while blind", seconds(s.node("node-1").HeartbeatAge), 90)
	equal(t, "longest interval: what could be seen of it", seconds(s.node("node-1").LongestInterval), 5)
	s.at(105).watch(event.Up, event.KindLease)
	for _, w := range s.Watches(s.now, nil) {
		if w.Resource == event.KindLease {
			equal(t, "blind", seconds(w.Blind), 90)
		}
	}
	s.at(124)
	equal(t, "late within half of the grace period after the watch works", s.node("node-1").LateHeartbeats, 0)
	s.at(126.1)
	equal(t, "late after that", s.node("node-1").LateHeartbeats, 1)
}

func TestWatchThatEndsInOrderIsNoBreak(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.Apply(event.Event{Seen: clock(12), Kind: event.KindLease, Type: event.Down, Reason: "ended"})
	s.at(12.05).watch(event.Up, event.KindLease)
	s.at(35).modified(lease("node-1", 35))
	equal(t, "late", s.node("node-1").LateHeartbeats, 1)
	equal(t, "longest interval", seconds(s.node("node-1").LongestInterval), 25)
	equal(t, "errors", s.Watches(s.now, nil)[1].Errors, 0)
	equal(t, "reported breaks", count[transition.WatchBroke](s), 0)
}

func TestLeaseAloneStartsTheFirstIntervalOfANodeWithoutAStatus(t *testing.T) {
	node := aNode("node-1", ready, 0)
	node.Ready = nil
	s := newStory(t, grace40).starts(node, lease("node-1", -5))
	s.at(16.001)
	equal(t, "late 20 s after it was renewed", s.node("node-1").LateHeartbeats, 1)
	s.at(36.001)
	equal(t, "missed 40 s after", s.node("node-1").MissedHeartbeats, 1)
}

func TestNodeThatWasLateBeforeKubeflapStartedIsNotCounted(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", unknown, -300), lease("node-1", -350))
	s.at(60)
	equal(t, "late", s.node("node-1").LateHeartbeats, 0)
	equal(t, "missed", s.node("node-1").MissedHeartbeats, 0)
	equal(t, "age", seconds(s.node("node-1").HeartbeatAge), 410)
}

func TestHeartbeatsBeforeANodeIsThereAreNotItsOwn(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(5).deleted(aNode("node-1", ready, 0))
	for _, at := range []float64{10, 20, 30, 70} {
		s.at(at).modified(lease("node-1", at))
	}
	equal(t, "intervals of a node that is not there", count[transition.HeartbeatSeen](s), 0)
	again := aNode("node-1", ready, 75)
	again.UID = id("another")
	s.at(75).added(again)
	equal(t, "heartbeats", s.node("node-1").Heartbeats, 0)
	equal(t, "longest interval", seconds(s.node("node-1").LongestInterval), 0)
}

func TestUnknownThatOnlyARelistShowsTakesOverTheLeaseToo(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10-3600))
	s.at(20).watch(event.Down, event.KindNode)
	s.at(50).lists(event.KindNode, unknownSince("node-1", 45))
	s.at(60).modified(lease("node-1", 60-3600))
	equal(t, "renewal after the Unknown", s.node("node-1").Heartbeats, 1)
}

func TestNodeCreatedAgainTakesOverTheLeaseThatSteppedBack(t *testing.T) {
	again := aNode("node-1", ready, 20)
	again.UID, again.Ready.LastHeartbeatTime = id("another"), clock(20-3600)
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10-3600))
	s.at(20).deleted(aNode("node-1", ready, 0)).added(again)
	s.at(30).modified(lease("node-1", 30-3600))
	equal(t, "renewal after it was created again", s.node("node-1").Heartbeats, 1)
}

func TestLeaseCreatedAgainBehindTheOneThatIsHeldRenewsInVain(t *testing.T) {
	// The node controller keeps the Lease that it has seen, even after the Lease was deleted.
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(20).deleted(lease("node-1", 10)).added(lease("node-1", 20-3600))
	equal(t, "heartbeats", s.node("node-1").Heartbeats, 1)
}

func TestNothingIsLateBeforeTheLeasesCanBeSeen(t *testing.T) {
	s := newStory(t, grace40)
	s.watch(event.Unavailable, event.KindLease)
	s.lists(event.KindNode, aNode("node-1", unknown, 230))
	s.at(300).lists(event.KindLease, lease("node-1", 180))
	s.at(301)
	equal(t, "late", s.node("node-1").LateHeartbeats, 0)
	equal(t, "missed", s.node("node-1").MissedHeartbeats, 0)
}

func TestTimeThatAQuestionLetPassDoesNotGoBack(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(15)
	equal(t, "age", seconds(s.node("node-1").HeartbeatAge), 5)
	s.at(12).modified(lease("node-1", 12))
	s.at(20)
	equal(t, "age of a heartbeat that came in behind the question", seconds(s.node("node-1").HeartbeatAge), 5)
	equal(t, "longest interval", seconds(s.node("node-1").LongestInterval), 5)
}

func TestNodeThatJoinsWhileTheWatchOfNodesIsBrokenIsNotLate(t *testing.T) {
	s := newStory(t, grace40).starts()
	s.at(10).watch(event.Down, event.KindNode)
	s.at(20).added(lease("node-1", 20))
	for _, at := range []float64{30, 40, 50, 60, 70, 80} {
		s.at(at).modified(lease("node-1", at))
	}
	s.at(85).lists(event.KindNode, aNode("node-1", ready, 20))
	s.at(86)
	n := s.node("node-1")
	equal(t, "late", n.LateHeartbeats, 0)
	equal(t, "missed", n.MissedHeartbeats, 0)
	equal(t, "age is short", n.HeartbeatAge < 10*time.Second, true)
}

func TestLeaseThatARelistLacksLeavesNothingBehind(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).lists(event.KindLease).deleted(aNode("node-1", ready, 0))
	equal(t, "records", kept(s.nodes, "nodes"), 0)
}

func TestLongestIntervalIsForgottenAlsoWhileNothingIsSeen(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(40).modified(lease("node-1", 40))
	s.at(42).watch(event.Down, event.KindLease)
	s.at(641)
	equal(t, "longest: what was seen of the running one", seconds(s.node("node-1").LongestInterval), 2)
}

// TestMarkOfAnEstimatedHeartbeatHeedsNoSetClock checks that setting a clock does not affect a time that was already
// converted from a node's clock to kubeflap's.
func TestMarkOfAnEstimatedHeartbeatHeedsNoSetClock(t *testing.T) {
	now := time.Now()
	f := New(grace40)
	listed := func(o event.Object) {
		f.Apply(event.Event{Seen: now, Kind: o.Kind(), Type: event.Listed, Object: o})
		f.Apply(event.Event{Seen: now, Kind: o.Kind(), Type: event.Synced})
	}
	l := lease("node-1", 0)
	l.RenewTime = now.Round(0).Add(-5 * time.Second)
	listed(aNode("node-1", ready, 0))
	listed(l)
	late := f.Advance(now.Add(20 * time.Second))
	if len(late) != 1 || !late[0].When().Equal(now.Add(15*time.Second)) || late[0].When() == late[0].When().Round(0) {
		t.Errorf("findings %v, want one at 15 s, with a monotonic reading", late)
	}
}
