package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestUnreadyTimeIncludesTheRunningEpisode(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100))
	s.at(10).modified(unknownSince("node-1", 10))
	s.at(25)
	equal(t, "unready while it lasts", seconds(s.node("node-1").Unready), 15)
	s.at(30).modified(aNode("node-1", notReady, 30))
	s.at(40).modified(aNode("node-1", ready, 40))
	s.at(99)
	equal(t, "unready in the end", seconds(s.node("node-1").Unready), 30)
	equal(t, "turned unknown", s.node("node-1").Turned[event.StatusUnknown], 1)
}

func TestFirstListIsABaseline(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", notReady, -100))
	n := s.node("node-1")
	equal(t, "transitions", n.Turned, [3]uint64{})
	s.at(10).modified(aNode("node-1", ready, 10))
	equal(t, "unready since it was seen", seconds(s.node("node-1").Unready), 10)
	for _, x := range of[transition.NodeReadyChanged](s) {
		equal(t, "complete, though its beginning was not seen", x.Complete, false)
	}
}

func TestAbsentReadyConditionIsUnknown(t *testing.T) {
	fresh := aNode("node-1", unknown, 0)
	fresh.Ready = nil
	s := newStory(t, grace40).starts()
	s.added(fresh)
	never := aNode("node-1", unknown, 60)
	never.Ready.Reason = "NodeStatusNeverUpdated"
	s.at(60).modified(never)
	equal(t, "turned unknown", s.node("node-1").Turned[event.StatusUnknown], 0)
	equal(t, "heartbeats", s.node("node-1").Heartbeats, 0)
	s.at(61).modified(aNode("node-1", ready, 61))
	equal(t, "turned ready", s.node("node-1").Turned[event.StatusTrue], 1)
}

func TestRelistThatShowsAMovedTransitionTimeProvesAPair(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), aNode("node-2", ready, -100))
	s.at(10).watch(event.Down, event.KindNode)
	s.at(60).lists(event.KindNode, aNode("node-1", ready, 42), aNode("node-2", ready, -100))
	n := s.node("node-1")
	equal(t, "turned unknown", n.Turned[event.StatusUnknown], 1)
	equal(t, "turned ready", n.Turned[event.StatusTrue], 1)
	equal(t, "unready: not known, so not made up", seconds(n.Unready), 0)
	quiet := s.node("node-2")
	equal(t, "transitions of the other", quiet.Turned[event.StatusTrue]+quiet.Turned[event.StatusUnknown], 0)
}

func TestTransitionTimeThatMovesInAWatchEventProvesNothing(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100))
	s.at(10).modified(aNode("node-1", ready, 5))
	n := s.node("node-1")
	equal(t, "transitions", n.Turned, [3]uint64{})
}

func TestDeletedNodeLeavesNothingBehind(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100), lease("node-1", 0))
	s.at(10).modified(aNode("node-1", notReady, 10))
	s.at(11).deleted(aNode("node-1", notReady, 10))
	equal(t, "nodes", len(s.Nodes(s.now, nil)), 0)
	s.deleted(lease("node-1", 0))
	equal(t, "records", kept(s.nodes, "nodes"), 0)
}

func TestNodeCreatedAgainUnderItsNameStartsAtZero(t *testing.T) {
	again := aNode("node-1", ready, 50)
	again.UID = id("another")
	t.Run("seen by the watch", func(t *testing.T) {
		s := newStory(t, grace40).starts(aNode("node-1", ready, -100))
		s.at(10).modified(aNode("node-1", notReady, 10))
		s.at(20).deleted(aNode("node-1", notReady, 10)).added(again)
		equal(t, "turned not ready", s.node("node-1").Turned[event.StatusFalse], 0)
		s.deleted(aNode("node-1", notReady, 10))
		equal(t, "nodes after a deletion of the old one that came late", len(s.Nodes(s.now, nil)), 1)
	})
	t.Run("seen only by a relist", func(t *testing.T) {
		s := newStory(t, grace40).starts(aNode("node-1", ready, -100), aNode("node-2", ready, -100))
		s.at(10).modified(aNode("node-1", notReady, 10))
		s.at(60).lists(event.KindNode, again)
		equal(t, "turned not ready", s.node("node-1").Turned[event.StatusFalse], 0)
		equal(t, "turned ready: it is another node", s.node("node-1").Turned[event.StatusTrue], 0)
		equal(t, "nodes: the one that the list lacks is gone", len(s.Nodes(s.now, nil)), 1)
	})
}

func TestFirstReadyConditionThatOnlyARelistShowsIsNoPair(t *testing.T) {
	fresh := aNode("node-1", unknown, 0)
	fresh.Ready = nil
	never := aNode("node-1", unknown, 60)
	never.Ready.Reason = "NodeStatusNeverUpdated"
	s := newStory(t, grace40).starts(fresh)
	s.at(50).watch(event.Down, event.KindNode)
	s.at(70).lists(event.KindNode, never)
	n := s.node("node-1")
	equal(t, "transitions", n.Turned, [3]uint64{})
}

func TestEpisodeWhoseBeginningOnlyARelistShowsIsNotComplete(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, -100))
	s.at(10).watch(event.Down, event.KindNode)
	s.at(60).lists(event.KindNode, aNode("node-1", notReady, 12))
	s.at(61).modified(aNode("node-1", ready, 61))
	all := s.transitions()
	last, ok := all[len(all)-1].(transition.NodeReadyChanged)
	equal(t, "a change of Ready", ok, true)
	equal(t, "complete", last.Complete, false)
}

func TestDeletionOfAnUnknownNodeLeavesNothingBehind(t *testing.T) {
	s := newStory(t, grace40).starts().deleted(aNode("node-1", ready, 0))
	equal(t, "records", kept(s.nodes, "nodes"), 0)
}

func TestReadyConditionThatAppearsMakesTheLeaseThatSteppedBackCount(t *testing.T) {
	bare := aNode("node-1", unknown, 0)
	bare.Ready = nil
	never := unknownSince("node-1", 60)
	never.Ready.Reason = "NodeStatusNeverUpdated"
	s := newStory(t, grace40).starts(bare, lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10-3600))
	s.at(60).modified(never)
	s.at(70).modified(lease("node-1", 70-3600))
	equal(t, "heartbeats", s.node("node-1").Heartbeats, 1)
}

func TestWatchesAreCountedAndToldOfWhileTheyAreBroken(t *testing.T) {
	nodes := func(s *story) watches.Watch { return s.Watches(s.now, nil)[0] }
	s := newStory(t, grace40)
	equal(t, "synced before the first list", s.Synced(), false)
	s.starts()
	equal(t, "synced", s.Synced(), true)
	equal(t, "relists", nodes(s).Relists, 0)
	s.at(10).watch(event.Down, event.KindNode)
	s.at(25)
	equal(t, "blind while it is broken", seconds(nodes(s).Blind), 15)
	equal(t, "up", nodes(s).Up, false)
	s.at(30).lists(event.KindNode)
	s.at(99)
	equal(t, "blind", seconds(nodes(s).Blind), 20)
	equal(t, "relists in the end", nodes(s).Relists, 1)
	equal(t, "up in the end", nodes(s).Up, true)
}
