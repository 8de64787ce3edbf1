package track

import (
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// reads simulates a direct read of the given Leases.
func (s *story) reads(reason event.Reason, leases ...event.Object) *story {
	s.watch(event.DirectReadStarted, event.KindLease)
	s.is(event.DirectReadLease, leases...)
	s.Apply(event.Event{Seen: s.now, Kind: event.KindLease, Type: event.DirectReadAnswered, Reason: reason})
	return s
}

func (s *story) asks() string { return strings.Join(s.LeasesToRead(s.now), " ") }

// threeNodes returns a story of three nodes that renewed at 9, 10 and 11 s, with a grace period of 40 s.
func threeNodes(t *testing.T) *story {
	s := newStory(t, grace40).starts(aNode("a", ready, 0), aNode("b", ready, 0), aNode("c", ready, 0),
		lease("a", 0), lease("b", 0), lease("c", 0))
	for i, name := range []string{"a", "b", "c"} {
		at := float64(9 + i)
		s.at(at).modified(lease(name, at))
	}
	return s
}

func (s *story) lates() (n uint64) {
	for _, x := range s.Nodes(s.now, nil) {
		n += x.LateHeartbeats + x.MissedHeartbeats
	}
	return n
}

func TestASilentWatchOfLeasesIsAskedAboutBeforeNodesAre(t *testing.T) {
	s := threeNodes(t)
	equal(t, "while all are in time", s.at(28.9).asks(), "")
	equal(t, "when the first is late", s.at(29.1).asks(), "")
	equal(t, "half a second later", s.at(29.6).asks(), "a b c")
	s.watch(event.DirectReadStarted, event.KindLease)
	equal(t, "while it is asked", s.at(30).asks(), "")
	equal(t, "late while it is asked", s.lates(), 0)
}

func TestNodesWhoseLeasesAreReadToBeOldAreSilent(t *testing.T) {
	s := threeNodes(t).at(29.6).reads("", lease("a", 9), lease("b", 10), lease("c", 11))
	equal(t, "late", s.at(29.7).lates(), 1)
	equal(t, "the others become so later, and are asked about", s.at(39.7).asks(), "b c a")
	s.reads("", lease("a", 9), lease("b", 10), lease("c", 11))
	equal(t, "late then", s.at(39.8).lates(), 3)
	var times []float64
	for _, x := range of[transition.HeartbeatLate](s) {
		times = append(times, x.Time.Sub(zero).Seconds())
	}
	if len(times) != 3 || times[0] != 29 || times[1] != 30 || times[2] != 31 {
		t.Errorf("late at %v, want the moments at which they were", times)
	}
}

func TestAnAPIServerThatAnswersAndCannotReadProvesThatNoNodeRenewed(t *testing.T) {
	s := threeNodes(t).at(29.6).reads("etcd not ready")
	equal(t, "late", s.at(29.7).lates(), 1)
}

func TestAWatchThatDoesNotShowWhatAReadDoesIsBehindAndNothingIsLate(t *testing.T) {
	s := threeNodes(t).at(29.6).reads("", lease("a", 29), lease("b", 20), lease("c", 21))
	equal(t, "behind at once: the watch may be a moment late", s.LeasesBehind(clock(30)), false)
	equal(t, "behind", s.LeasesBehind(clock(31.7)), true)
	equal(t, "late", s.at(60).lates(), 0)
	s.breaks("silent", event.KindLease)
	equal(t, "behind, once it is open anew", s.LeasesBehind(clock(60.1)), false)
	s.at(61).watch(event.Up, event.KindLease).modified(lease("a", 59), lease("b", 60), lease("c", 61))
	equal(t, "late afterwards", s.at(70).lates(), 0)
	equal(t, "blind since its last sign of life", s.blind(event.KindLease), 50)
	equal(t, "findings of heartbeats", count[transition.HeartbeatLate](s)+count[transition.HeartbeatMissed](s), 0)
}

func TestAReadThatIsAMomentAheadOfTheWatchMeansNothing(t *testing.T) {
	s := threeNodes(t).at(29.6).reads("", lease("a", 29.5), lease("b", 10), lease("c", 11))
	s.at(29.7).modified(lease("a", 29.5))
	equal(t, "behind", s.LeasesBehind(clock(40)), false)
	equal(t, "late: the node itself, since its heartbeat came after the mark", s.at(29.8).lates(), 1)
}

func TestNothingIsLateThatAWatchShowsLateWhichAReadHasShownToBeBehind(t *testing.T) {
	s := threeNodes(t).at(29.6).reads("", lease("b", 20), lease("c", 21))
	s.at(31.2).modified(lease("a", 19), lease("b", 20), lease("c", 21)) // these were renewed in time but seen late
	equal(t, "late", s.at(31.3).lates(), 0)
	equal(t, "behind", s.LeasesBehind(s.now), false)
	s.at(31.4).modified(lease("b", 30), lease("c", 31))
	s.at(45).modified(lease("b", 40))
	equal(t, "intervals measured of what came in late", count[transition.HeartbeatSeen](s), 0)
	equal(t, "late, when it could have been seen", s.at(52.5).lates(), 2)
}

func TestNothingIsSaidOfNodesWhileNothingAnswers(t *testing.T) {
	s := threeNodes(t)
	for at := 29.6; at < 80; at += 10 {
		s.at(at).watch(event.DirectReadStarted, event.KindLease)
		s.at(at+3).watch(event.DirectReadUnanswered, event.KindLease)
		equal(t, "late", s.lates(), 0)
	}
	s.at(80).breaks("connection lost", event.KindLease)
	equal(t, "late afterwards", s.at(100).lates(), 0)
	equal(t, "blind since its last sign of life", s.blind(event.KindLease), 89)
}

func TestOneNodeThatIsLateIsKnownByTheOthersThatAreNot(t *testing.T) {
	s := threeNodes(t)
	for at := 19.0; at <= 39; at += 10 {
		s.at(at + 1).modified(lease("b", at+1))
		s.at(at + 1.2)
		equal(t, "asked", s.asks(), "")
		s.at(at + 2).modified(lease("c", at+2))
	}
	equal(t, "late", s.node("a").LateHeartbeats, 1)
	equal(t, "late, the others", s.lates(), 1)
}

func TestAnAnswerThatIsNotAboutTheNodesProvesNothing(t *testing.T) {
	for reason, late := range map[event.Reason]uint64{"throttled": 0, "unreadable answer": 0, "absent": 0, "server error": 1, "timeout": 1, "forbidden": 1} {
		s := threeNodes(t).at(29.6).reads(reason)
		equal(t, "late after "+string(reason), s.at(29.7).lates(), late)
	}
}

// TestARenewalThatWaitedForEtcdIsLate stalls etcd for 45 s. The kubelets have sent their renewals in time, and the API
// server writes them when etcd is back. A read shows one of them just before the watch does. The watch does not lag,
// because reads during the stall have proven that nothing was renewed.
func TestARenewalThatWaitedForEtcdIsLate(t *testing.T) {
	s := threeNodes(t)
	s.at(31.6).reads("", lease("a", 9), lease("b", 10), lease("c", 11))
	s.at(51.6).reads("", lease("a", 9), lease("b", 10), lease("c", 11))
	equal(t, "late and missed during the stall", s.at(52).lates(), 6)
	before := count[transition.HeartbeatSeen](s)
	s.at(55).watch(event.DirectReadStarted, event.KindLease).is(event.DirectReadLease, lease("a", 19))
	s.at(55.1).modified(lease("a", 19), lease("b", 20), lease("c", 21))
	equal(t, "late and missed", s.lates(), 6)
	equal(t, "measured intervals", count[transition.HeartbeatSeen](s)-before, 3)
}
