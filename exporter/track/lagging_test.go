package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
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
