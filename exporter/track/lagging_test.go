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

// TestALaterLossDoesNotWaitForEver covers a mark of the node controller, for which a pod waits 15 s, and a later probe
// that fails, for which it waits 3 s. The node watch is known to lag only when the second wait has ended.
func TestALaterLossDoesNotWaitForEver(t *testing.T) {
	s := webStory(t)
	s.at(9).modified(version(1000, lease("node-2", 9)))
	s.at(10).modified(version(1001, unready("", containersReady)))
	s.at(10.5).modified(version(1002, aPod("web-1", ready, running("app:1", 0))))
	s.at(11).modified(version(1003, unready("ContainersNotReady")))
	s.at(12).modified(version(1004, aPod("web-1", ready, running("app:1", 0))))
	s.at(20).modified(version(1100, lease("node-2", 20)))
	s.at(22).modified(version(1099, aNode("node-2", ready, -100)))
	s.Advance(clock(60))
	equal(t, "changes because of the probe", s.podChanges(cause.ProbeFailed), 2)
	equal(t, "all changes", count[transition.PodReadyChanged](s), 4)
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
