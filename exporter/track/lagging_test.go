package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// TestACauseIsTheSameWhereAWatchIsBehindAndThePodHasGoneOn checks that a replica whose watch is 1.5 s late reports the
// same cause as one that sees the events in order.
func TestACauseIsTheSameWhereAWatchIsBehindAndThePodHasGoneOn(t *testing.T) {
	ends := unready("ContainersNotReady", container1("terminated", "Error", 0))
	fails, heals := unready("ContainersNotReady"), aPod("web-1", ready, running("app:1", 0))
	goes := unready("ContainersNotReady", deleting)
	out, terminates := slice("a", "web", "-web-1", "web-2"), slice("a", "web", "~web-1", "web-2")
	type seen struct {
		at  float64
		typ event.Type
		o   event.Object
	}
	for name, c := range map[string]struct {
		events []seen
		want   cause.Cause
	}{
		"its probe failed, and it is Ready again before its node is waited for no more": {[]seen{
			{10, event.Modified, fails}, {11.6, event.Modified, out}, {12.7, event.Modified, heals},
		}, cause.ProbeFailed},
		"its probe failed, and it is gone": {[]seen{
			{10, event.Modified, fails},
			{11, event.Modified, goes},
			{11.6, event.Modified, out},
			{12, event.Deleted, goes},
			{12.6, event.Modified, terminates},
		}, cause.ProbeFailed},
		"its container ended, and it was gone before that showed": {[]seen{
			{10, event.Modified, ends}, {11, event.Modified, goes}, {11.3, event.Deleted, goes}, {11.6, event.Modified, out},
		}, cause.ContainerExit},
		"its probe failed as it was deleted, which is what took its address away": {[]seen{
			{10.1, event.Modified, terminates}, {11.5, event.Modified, fails}, {11.55, event.Modified, goes},
		}, cause.PodDeleted},
	} {
		t.Run(name, func(t *testing.T) {
			s := webStory(t).at(9)
			for _, x := range c.events {
				for next := s.now.Add(200 * time.Millisecond); next.Before(clock(x.at)); next = next.Add(200 * time.Millisecond) {
					s.Advance(next)
				}
				s.at(x.at).is(x.typ, x.o)
			}
			s.at(40).onlyLoss(t, c.want)
		})
	}
}

// TestEachLossOfAPodWaitsForItsNode checks that a pod's first readiness loss still waits for the node if the pod loses
// its readiness again meanwhile. A kubelet and the node controller can undo each other's writes of Ready.
func TestEachLossOfAPodWaitsForItsNode(t *testing.T) {
	fails, heals := unready("ContainersNotReady"), aPod("web-1", ready, running("app:1", 0))
	out, in := slice("a", "web", "-web-1", "web-2"), slice("a", "web", "web-1", "web-2")
	flapTwice := func(t *testing.T) *story {
		s := webStory(t)
		s.at(10).modified(fails).at(10.05).modified(out)
		s.at(10.2).modified(heals).at(10.25).modified(in)
		s.at(10.4).modified(fails).at(10.45).modified(out)
		return s.at(11.3).modified(heals).at(11.35).modified(in)
	}
	t.Run("the node is seen as not ready", func(t *testing.T) {
		s := flapTwice(t)
		s.at(11.5).modified(aNode("node-1", event.StatusFalse, 9.6))
		s.at(30).onlyLoss(t, cause.NodeNotReady)
		equal(t, "losses", s.losses(cause.NodeNotReady), 2)
		equal(t, "changes of the pod", s.podChanges(cause.NodeNotReady), 4)
	})
	t.Run("the node stays ready", func(t *testing.T) {
		s := flapTwice(t)
		s.at(30).onlyLoss(t, cause.ProbeFailed)
		equal(t, "losses", s.losses(cause.ProbeFailed), 2)
		equal(t, "changes of the pod", s.podChanges(cause.ProbeFailed), 4)
	})
	t.Run("the pod is deleted before the node is seen", func(t *testing.T) {
		s := flapTwice(t)
		s.at(11.4).deleted(heals)
		s.at(30)
		equal(t, "losses", s.losses(cause.ProbeFailed), 2)
		equal(t, "changes of the pod", s.podChanges(cause.ProbeFailed), 4)
	})
}

// TestLossesOfAPodThatFailsAgain covers pods that lose their readiness again while their first loss waits.
func TestLossesOfAPodThatFailsAgain(t *testing.T) {
	marked, fails := unready("", containersReady), unready("ContainersNotReady")
	ends := unready("ContainersNotReady", container1("terminated", "Error", 0))
	heals := aPod("web-1", ready, running("app:1", 0))
	out, in := slice("a", "web", "-web-1", "web-2"), slice("a", "web", "web-1", "web-2")
	lagging := func(s *story) *story {
		return s.at(2).modified(version(1000, lease("node-1", 2))).at(3).modified(version(999, aNode("node-1", ready, -100)))
	}
	t.Run("by its probe, and the lag of the node watch is noticed only after the wait", func(t *testing.T) {
		s := webStory(t)
		s.at(10).modified(version(1002, marked)).at(10.5).modified(version(1003, heals)).at(11).modified(version(1004, fails))
		s.at(14.5).modified(version(1001, unknownSince("node-1", 9.9))).at(60)
		equal(t, "changes", count[transition.PodReadyChanged](s), 3)
		s.deleted(fails)
		equal(t, "changes after the deletion", count[transition.PodReadyChanged](s), 3)
	})
	t.Run("because its container ends, and the pod watch is late", func(t *testing.T) {
		s := webStory(t)
		s.at(10).modified(fails).at(10.2).modified(heals).at(11.5).modified(out).at(12.45).modified(ends).at(40)
		equal(t, "losses", s.losses(cause.ContainerExit), 1)
	})
	t.Run("because of its node, which is Ready again before the first loss is explained", func(t *testing.T) {
		failsAt := func(at float64) *event.Pod {
			return unready("ContainersNotReady", func(p *event.Pod) { p.Ready.LastTransitionTime = clock(at) })
		}
		s := lagging(webStory(t))
		s.at(10).modified(failsAt(10)).at(11).modified(heals).at(13.5).modified(failsAt(13.5)).at(13.55).modified(out)
		s.at(14).modified(aNode("node-1", notReady, 13.4)).at(16).modified(aNode("node-1", ready, 16)).at(60)
		equal(t, "losses", s.losses(cause.NodeNotReady), 1)
	})
	t.Run("because its container ends, and the address was seen before the pod", func(t *testing.T) {
		s := lagging(webStory(t))
		s.at(9.9).modified(out).at(10).modified(fails).at(11).modified(heals, in).at(12).modified(ends).at(60)
		equal(t, "losses", s.losses(cause.ProbeFailed), 1)
	})
	t.Run("marked by the node controller, and the node recovers at once", func(t *testing.T) {
		s := webStory(t)
		s.at(40).modified(lease("node-1", 40)).at(80).modified(fails).at(80.2).modified(heals)
		s.at(81).modified(unknownSince("node-1", 81)).at(81.1).modified(marked).at(81.15).modified(out)
		s.at(82).modified(lease("node-1", 82)).at(120)
		lost, gone := of[transition.NodeReadyChanged](s)[0], of[transition.AddressLost](s)[0]
		equal(t, "trigger", gone.Trigger, lost.Loss.Trigger)
	})
}

// podChanges counts the reported changes of a pod's Ready with a cause, and checks that they are in order.
func (s *story) podChanges(why cause.Cause) (n int) {
	var last time.Time
	for _, x := range of[transition.PodReadyChanged](s) {
		if x.Cause == why {
			n++
		}
		if x.Time.Before(last) {
			s.t.Errorf("a change at %s after one at %s", x.Time, last)
		}
		last = x.Time
	}
	return n
}
