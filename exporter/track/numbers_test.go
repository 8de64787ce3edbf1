package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func TestBlindSecondsNeverGoDown(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).breaks("connection refused", event.KindPod)
	s.at(130).watch(event.Up, event.KindPod)
	equal(t, "a break of two minutes", s.blind(event.KindPod), 120)
	s.at(200).breaks("ended", event.KindPod)
	equal(t, "while a short break runs", s.at(200.09).blind(event.KindPod), 120)
	s.at(200.1).watch(event.Up, event.KindPod)
	equal(t, "after it", s.blind(event.KindPod), 120)
	s.at(300).breaks("ended", event.KindPod)
	equal(t, "a break is shown from a second on", s.at(301.5).blind(event.KindPod), 121.5)
}

func TestASilentWatchWasBlindSinceItsLastSignOfLife(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	s.at(10).modified(lease("node-1", 10))
	s.at(100).breaks("silent", event.KindLease)
	s.at(105).watch(event.Up, event.KindLease)
	equal(t, "it had brought an event", s.blind(event.KindLease), 95)
	s = newStory(t, grace40).starts(aNode("node-1", ready, 0))
	s.at(10).breaks("connection refused", event.KindPod)
	s.at(20).watch(event.Up, event.KindPod)
	s.at(110).breaks("silent", event.KindPod)
	s.at(115).watch(event.Up, event.KindPod)
	equal(t, "it was opened, and that was all", s.blind(event.KindPod), 10+95)
}

func TestTheNewestLossByTimeIsTheLast(t *testing.T) {
	s := webStory(t)
	// web-1 leaves first, but its pod's event arrives late. web-2 leaves later with an immediately known cause.
	s.at(10).modified(slice("a", "web", "-web-1", "web-2"))
	gone := aPod("web-2", ready, running("app:1", 0))
	gone.DeletionTimestamp = clock(40)
	s.at(10.4).modified(gone, slice("a", "web", "-web-1", "~web-2"))
	equal(t, "the last loss", s.service("web").LastLoss, clock(10.4))
	s.at(10.8).modified(unready("ContainersNotReady", container1("terminated", "Error", 0)))
	s.at(30)
	equal(t, "the last loss, when the one before it has its cause", s.service("web").LastLoss, clock(10.4))
	equal(t, "and its cause", s.service("web").LastCause, cause.PodDeleted)
	equal(t, "the cause of the other", s.losses(cause.ContainerExit), 1)
}

func TestLossesAreCountedAtOnceAndByCauseWhenItIsKnown(t *testing.T) {
	s := webStory(t)
	equal(t, "at the start", s.service("web").Lost, 0)
	s.at(10).modified(slice("a", "web", "-web-1", "web-2"))
	equal(t, "at once", s.service("web").Lost, 1)
	s.at(10.5).modified(unready("ContainersNotReady", container1("terminated", "Error", 0)))
	equal(t, "by cause", s.losses(cause.ContainerExit), 1)
	equal(t, "once", s.service("web").Lost, 1)
}

func TestCountsOfANamespaceOutliveItsLastPodByAnHour(t *testing.T) {
	s := newStory(t, grace40).starts(aService("db", true), aPod("db-0", ready, running("app:1", 0)))
	s.at(10).modified(aPod("db-0", ready, running("app:2", 0)))
	equal(t, "updates", s.inShop().InPlaceUpdates, 1)
	s.at(20).deleted(aPod("db-0", ready, running("app:2", 0)))
	equal(t, "updates after its pod", s.at(25).inShop().InPlaceUpdates, 1)
	next := aPod("db-0", ready, running("app:2", 0))
	next.UID = id("another db-0")
	s.at(30).added(next)
	equal(t, "updates with its next pod", s.inShop().InPlaceUpdates, 1)
	s.at(40).deleted(next)
	equal(t, "namespaces an hour later", len(s.at(40+3599).Namespaces(s.now, nil)), 1)
	equal(t, "namespaces after that", len(s.at(40+3601).Namespaces(s.now, nil)), 0)
}

func TestConsumersOfANamespaceOutliveItsLastServiceByAnHour(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1"))
	s.at(10).modified(slice("a", "web", "-web-1"))
	s.at(20).deleted(aService("web", true), slice("a", "web", "-web-1"))
	equal(t, "updates", s.at(30).inNamespace().Updates[0], 1)
	s.at(20 + 3601)
	equal(t, "namespaces an hour later", len(s.Consumers(s.now, nil)), 0)
}

func TestStaleReadyIsOnlyTheTimeInWhichReadyStoodAndWasNotTrue(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), aPod("web-1", ready, running("app:1", 0)), slice("a", "web", "web-1"))
	updated := func(status event.Status) *event.Pod { return aPod("web-1", status, running("app:2", 0)) }
	s.at(10).modified(updated(ready)) // the image changes while the old container is running
	s.at(14).modified(updated(notReady))
	s.at(34).modified(updated(ready)) // the pod is not ready for 20 s, then ready without a new container
	s.at(37).modified(updated(notReady))
	var stale []float64
	for _, x := range of[transition.PodReadyWasStale](s) {
		stale = append(stale, seconds(x.Stale))
	}
	equal(t, "stale for", fmt.Sprint(stale), "[4 3]")

	s = newStory(t, grace40).starts(aService("web", true), aPod("web-1", ready, running("app:1", 0)), slice("a", "web", "web-1"))
	s.at(10).modified(updated(ready))
	s.at(14).modified(aPod("web-1", notReady, running("app:2", 1)))
	s.at(34).modified(aPod("web-1", ready, running("app:2", 1)))
	s.at(40).modified(aPod("web-1", notReady, running("app:2", 1)))
	equal(t, "stale times, when the new container had served", count[transition.PodReadyWasStale](s), 1)
}

func TestPodsThatAreGoneAreForgottenWithoutAnotherDeletion(t *testing.T) {
	s := newStory(t, grace40).starts()
	for i := range 50 {
		s.at(10).added(aPod(fmt.Sprint("web-", i), ready))
		s.at(10).deleted(aPod(fmt.Sprint("web-", i), ready))
	}
	s.at(100)
	s.Advance(s.now)
	equal(t, "remembered", kept(s.pods, "recentlyDeleted"), 0)
}

func TestNewestLossIsTheSameInWhateverOrderEqualOnesAreSettled(t *testing.T) {
	for _, order := range [][2]int{{1, 2}, {2, 1}} {
		s := newStory(t, grace40).starts(aNode("node-1", ready, -100), aService("web", true),
			aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)), slice("a", "web", "web-1", "web-2"))
		s.at(10).modified(slice("a", "web", "-web-1", "-web-2"))
		for _, which := range order {
			p := aPod(fmt.Sprint("web-", which), notReady, running("app:1", 0))
			p.Ready.Reason = "ContainersNotReady"
			if which == 1 {
				p.Containers[0].State = "terminated"
			} else {
				p.Ready.Reason = "ReadinessGatesNotReady"
			}
			s.now = s.now.Add(100 * time.Millisecond)
			s.modified(p)
		}
		equal(t, "the last cause", s.service("web").LastCause, cause.ContainerExit)
	}
}
