package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// reporting returns a story with two nodes that report their status at the given interval until the given second.
// Leases cannot be watched for the given reason.
func reporting(t *testing.T, reason event.Reason, every, until int) *story {
	s := newStory(t, grace40)
	for _, k := range event.Kinds() {
		switch k {
		case event.KindNode:
			s.lists(k, aNode("a", ready, 0), aNode("b", ready, 0))
		case event.KindLease:
			s.Apply(event.Event{Seen: s.now, Kind: k, Type: event.Unavailable, Reason: reason})
		default:
			s.lists(k)
		}
	}
	for second := every; second <= until; second += every {
		s.report(second, "a").report(second+1, "b")
	}
	return s
}

func (s *story) report(second int, name string) *story {
	n := aNode(name, ready, 0)
	n.Ready.LastHeartbeatTime = clock(float64(second))
	return s.at(float64(second)).modified(n)
}

func TestStatusReportsAreTheHeartbeatsOfAClusterWithoutLeases(t *testing.T) {
	s := reporting(t, event.ReasonAbsent, 10, 500)
	equal(t, "measured intervals", count[transition.HeartbeatSeen](s) > 90, true)
	equal(t, "not watched", textOf(s.notWatched()), "")
	equal(t, "age is known", s.node("a").HeartbeatKnown, true)
	equal(t, "longest interval", s.node("a").LongestInterval, 10*time.Second)
	for second := 511; second <= 541; second += 10 {
		s.report(second, "b")
	}
	equal(t, "late and missed", s.node("a").LateHeartbeats+s.node("a").MissedHeartbeats, 2)
	s.report(550, "a")
	equal(t, "longest interval of a silence", s.node("a").LongestInterval, 50*time.Second)
	for second := 551; second <= 620; second += 10 {
		s.report(second, "b")
	}
	equal(t, "missed again", s.node("a").MissedHeartbeats, 2)
}

func TestReportsThatAreFarApartShowNoSilence(t *testing.T) {
	for _, c := range []struct {
		name   string
		reason event.Reason
		every  int
		unseen bool
	}{
		{"unchanged reports", event.ReasonAbsent, 300, true},
		{"unchanged reports, and kubeflap may not see the Leases", event.ReasonForbidden, 300, true},
		{"kubeflap may not see the Leases: a node may be idle after it was busy, until it is marked", event.ReasonForbidden, 10, false},
	} {
		s := reporting(t, c.reason, c.every, 3000)
		for second := 3100; second <= 3200; second += 10 {
			s.report(second, "b")
		}
		equal(t, c.name+": late", s.lates(), 0)
		equal(t, c.name+": age is known", s.node("a").HeartbeatKnown, false)
		marked := unknownSince("a", 3201)
		marked.Ready.LastHeartbeatTime = clock(3000)
		s.at(3201).modified(marked)
		all := of[transition.NodeReadyChanged](s)
		equal(t, c.name+": marked, unseen", len(all) == 1 && all[0].Loss.Unseen == c.unseen && (all[0].Silence == 0) == c.unseen, true)
	}
}

// TestSilentReportsOfAllNodesAreNotKnownToBeMissing checks that no node is late while all nodes are silent, because
// bookmarks come from the API server's memory, and status reports cannot be read directly.
func TestSilentReportsOfAllNodesAreNotKnownToBeMissing(t *testing.T) {
	s := reporting(t, event.ReasonAbsent, 10, 400)
	for second := 410; second <= 500; second += 10 {
		s.at(float64(second)).watch(event.Bookmark, event.KindNode)
	}
	equal(t, "late", s.lates(), 0)
	s.report(501, "b")
	equal(t, "late, when one reports again", s.lates(), 4)
}

func TestLeasesThatCanBeWatchedLaterAreTheHeartbeats(t *testing.T) {
	s := reporting(t, event.ReasonForbidden, 300, 600).at(700).lists(event.KindLease, lease("a", 695), lease("b", 696))
	for second := 705; second <= 760; second += 10 {
		s.at(float64(second)).modified(lease("b", float64(second)))
	}
	equal(t, "age is known", s.node("a").HeartbeatKnown, true)
	equal(t, "missed", s.node("a").MissedHeartbeats, 1)
	equal(t, "missed of the other", s.node("b").MissedHeartbeats, 0)
}
