package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestASilenceThatSpansABreakIsOneInterval checks that the heartbeat after a break of the watch ends an interval that
// began before the break, if nothing in between can have been missed. node-1 sends heartbeats at 10 s and 20 s, and the
// watches break at 25 s.
func TestASilenceThatSpansABreakIsOneInterval(t *testing.T) {
	reported := func(t float64) *event.Node {
		n := aNode("node-1", ready, -1000)
		n.Ready.LastHeartbeatTime = clock(t)
		return n
	}
	lists := func(s *story, n *event.Node, renewed float64) {
		s.lists(event.KindNode, n).lists(event.KindLease, lease("node-1", renewed))
	}
	for name, c := range map[string]struct {
		how  func(*story)
		want string
	}{
		"the list shows no renewal": {func(s *story) {
			lists(s.at(60), reported(0), 20)
			s.at(100).modified(lease("node-1", 100))
		}, "[80]"},
		"the watch resumes where it was": {func(s *story) {
			s.at(60).watch(event.Up, event.KindNode, event.KindLease)
			s.at(100).modified(lease("node-1", 100))
		}, "[80]"},
		"the heartbeat comes as soon as the watch resumes": {func(s *story) {
			lists(s.at(60), reported(0), 20)
			s.at(61).modified(lease("node-1", 60.9))
		}, "[41]"},
		"a status report ends the silence": {func(s *story) {
			lists(s.at(60), reported(0), 20)
			s.at(100).modified(reported(100))
		}, "[80]"},
		"the silence spans two breaks": {func(s *story) {
			lists(s.at(60), reported(0), 20)
			s.at(70).breaks(event.ReasonRefused, event.KindNode, event.KindLease)
			lists(s.at(80), reported(0), 20)
			s.at(100).modified(lease("node-1", 100))
		}, "[80]"},
		"the next interval": {func(s *story) {
			lists(s.at(60), reported(0), 20)
			s.at(61).modified(lease("node-1", 60.9))
			s.at(71).modified(lease("node-1", 70.9))
		}, "[41 10]"},
		"the list shows a renewal": {func(s *story) {
			lists(s.at(60), reported(0), 59.5)
			s.at(100).modified(lease("node-1", 100))
		}, "[]"},
		"the list shows a status report": {func(s *story) {
			lists(s.at(60), reported(40), 20)
			s.at(100).modified(lease("node-1", 100))
		}, "[]"},
		"nodes are not watched again": {func(s *story) {
			s.at(60).lists(event.KindLease, lease("node-1", 20))
			s.at(100).modified(lease("node-1", 100))
		}, "[]"},
		"the watch shows missed renewals late": {func(s *story) {
			s.at(60).watch(event.Up, event.KindNode, event.KindLease)
			s.at(66).modified(lease("node-1", 30))
		}, "[]"},
		"the node's clock was set back": {func(s *story) {
			lists(s.at(60), reported(0), 20)
			s.at(100).modified(lease("node-1", 50))
		}, "[]"},
		"the last heartbeat was shown late": {func(s *story) {
			s.at(37).watch(event.Up, event.KindNode, event.KindLease).modified(lease("node-1", 26))
			s.at(38).breaks(event.ReasonRefused, event.KindNode, event.KindLease)
			lists(s.at(60), reported(0), 26)
			s.at(100).modified(lease("node-1", 89))
		}, "[]"},
		"the node was created again": {func(s *story) {
			again := reported(100)
			again.UID = id("node/again")
			s.at(60).lists(event.KindNode).lists(event.KindLease)
			s.at(100).added(again, lease("node-1", 100))
		}, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStory(t, grace40).starts(reported(0), lease("node-1", 0))
			s.at(10).modified(lease("node-1", 10))
			s.at(20).modified(lease("node-1", 20))
			s.at(25).breaks(event.ReasonRefused, event.KindNode, event.KindLease)
			before := count[transition.HeartbeatSeen](s)
			c.how(s)
			var got []float64
			for _, x := range of[transition.HeartbeatSeen](s)[before:] {
				got = append(got, x.Interval.Round(time.Second).Seconds())
			}
			equal(t, "intervals", fmt.Sprint(got), c.want)
		})
	}
}
