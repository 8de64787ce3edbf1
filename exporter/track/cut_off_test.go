package track

import (
	"slices"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// threeServers is threeNodes in a cluster with three API servers. The API servers' Leases were last renewed at 10 s.
func threeServers(t *testing.T) *story {
	s := newStory(t, grace40).starts(aNode("a", ready, 0), aNode("b", ready, 0), aNode("c", ready, 0), lease("a", 0), lease("b", 0), lease("c", 0)).
		lists(event.KindControlPlaneLease, apiServer("1", 0), apiServer("2", 0), apiServer("3", 0))
	for i, name := range []string{"a", "b", "c"} {
		at := float64(9 + i)
		s.at(at).modified(lease(name, at))
	}
	return s.at(11.1).modified(apiServer("1", 10), apiServer("2", 10), apiServer("3", 10))
}

// failing adds a failed direct read every 10 s.
func (s *story) failing(reason event.Reason, from, to float64) *story {
	for at := from; at < to; at += 10 {
		s.at(at).watch(event.DirectReadStarted, event.KindLease)
		s.at(at + 4)
		s.Apply(event.Event{Seen: s.now, Kind: event.KindLease, Type: event.DirectReadAnswered, Reason: reason})
	}
	return s
}

// leasesOf returns the renewals of the three nodes between two times, every 10 s from 19 s on. silent reports whether a
// node skips a renewal.
func leasesOf(from, to float64, silent func(node string, at float64) bool) (all []*event.Lease) {
	for i := 0; ; i++ {
		name, at := string(rune('a'+i%3)), float64(19+i%3+i/3*10)
		switch {
		case at >= to:
			return all
		case at >= from && (silent == nil || !silent(name, at)):
			all = append(all, lease(name, at))
		}
	}
}

// catchesUp makes the watch show all renewals from 19 s to 130 s at once, and each renewal immediately in the following
// 30 s.
func (s *story) catchesUp(silent func(node string, at float64) bool) *story {
	for _, l := range leasesOf(0, 130, silent) {
		s.modified(l)
	}
	for _, l := range leasesOf(130, 160, silent) {
		s.at(seconds(l.RenewTime.Sub(zero))).modified(l)
	}
	return s
}

func (s *story) intervals() (all []float64) {
	for _, x := range of[transition.HeartbeatSeen](s) {
		all = append(all, seconds(x.Interval))
	}
	return all
}

// TestAnAPIServerOfSeveralThatCannotReadFromEtcdProvesNothing checks that an error of one API server proves nothing
// about nodes, because other API servers may reach etcd. The renewals that the watch shows later are decisive.
func TestAnAPIServerOfSeveralThatCannotReadFromEtcdProvesNothing(t *testing.T) {
	for _, reason := range []event.Reason{event.NotReady("etcd"), event.ReasonTimeout, event.ReasonServerError} {
		s := threeServers(t).failing(reason, 29.6, 125)
		s.at(126).is(event.Added, &event.Cluster{Version: "v1.37.2"}).watch(event.Bookmark, event.Kinds()...) // these come from the API server's memory
		s.breaks(event.ReasonEnded, event.KindPod).watch(event.Up, event.KindPod)
		equal(t, "late while nothing can be known", s.at(130).lates(), 0)
		for _, k := range event.Kinds() {
			equal(t, "blind since the last object, to "+k.String(), s.blind(k), 130-11.1)
		}
		equal(t, "not watched", len(s.notWatched()), len(event.Kinds()))
		equal(t, "not ready", len(s.Unready(s.now)), len(event.Kinds()))
		equal(t, "longest interval that could be seen", seconds(s.node("a").LongestInterval), 11.1-9)

		s.catchesUp(nil)
		equal(t, "late in hindsight, after "+string(reason), s.lates(), 0)
		equal(t, "findings", count[transition.HeartbeatLate](s)+count[transition.HeartbeatMissed](s), 0)
		for _, d := range s.intervals() {
			if d > 10.1 {
				t.Errorf("an interval of %v s, which was none", d)
			}
		}
		equal(t, "heartbeats of a", len(slices.DeleteFunc(of[transition.HeartbeatSeen](s), func(x transition.HeartbeatSeen) bool { return x.Node != "a" })), 15)
		equal(t, "not watched afterwards", len(s.notWatched()), 0)
		for _, k := range event.Kinds() {
			equal(t, "blind, to "+k.String(), s.blind(k), 130-11.1)
		}
	}
}

// TestARenewalThatWaitedForEtcdTakesNothingBack covers a stall after which, at 55 s, etcd accepts the renewal that c's
// kubelet last tried at 45 s. The kubelet renews again 9 s later.
func TestARenewalThatWaitedForEtcdTakesNothingBack(t *testing.T) {
	s := threeServers(t).failing(event.ReasonTimeout, 29.6, 50)
	s.at(55).modified(lease("c", 45)).at(55.1).modified(lease("a", 55), lease("b", 55.1)).at(64).modified(lease("c", 64))
	equal(t, "late and missed of c", s.node("c").LateHeartbeats+s.node("c").MissedHeartbeats, 2)
	equal(t, "taken back", count[transition.HeartbeatsWereInTime](s), 0)
}

// TestANodeThatWasSilentWhileNothingCouldBeKnownIsCountedInHindsight checks the counts after the watch has caught up
// and shown that b skipped its renewals from 30 s to 90 s.
func TestANodeThatWasSilentWhileNothingCouldBeKnownIsCountedInHindsight(t *testing.T) {
	s := threeServers(t).failing(event.NotReady("etcd"), 29.6, 125).at(130)
	s.catchesUp(func(node string, at float64) bool { return node == "b" && at >= 30 && at < 100 })
	equal(t, "late and missed", s.lates(), 2)
	equal(t, "late and missed of b", s.node("b").LateHeartbeats+s.node("b").MissedHeartbeats, 2)
	equal(t, "longest interval of b", seconds(s.node("b").LongestInterval), 80)
}

// TestAReportThatComesBeforeTheLeasesThatCatchUpCountsNothing covers a status report that arrives before the renewals,
// because the watches of nodes and Leases have no common order.
func TestAReportThatComesBeforeTheLeasesThatCatchUpCountsNothing(t *testing.T) {
	s := threeServers(t).failing(event.NotReady("etcd"), 29.6, 125)
	s.at(130).modified(&event.Node{Meta: aNode("a", ready, 0).Meta, Ready: &event.Condition{Status: ready, LastTransitionTime: clock(0), LastHeartbeatTime: clock(60)}})
	s.catchesUp(nil)
	equal(t, "late", s.lates(), 0)
}

// TestAnOutageGetsItsClassAfterTheWatchesWereCutOff has an outage whose class would have become final while no watch delivered
// anything.
func TestAnOutageGetsItsClassAfterTheWatchesWereCutOff(t *testing.T) {
	s := threeServers(t).added(aWorkload(event.KindDeployment, "web", 1), aService("web", true), ofDeployment("web-1", "5d4", ready), slice("a", "web", "web-1"))
	s.at(12).crashes().failing(event.ReasonTimeout, 29.6, 400)
	equal(t, "not watched", len(s.notWatched()), len(event.Kinds()))
	s.counted("while nothing is seen", cause.Unplanned, 0, 0, 0)
	s.at(410).modified(lease("a", 409)).at(411).counted("afterwards", cause.Unplanned, 1, 1, 91*time.Second)
}
