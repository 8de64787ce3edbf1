package correlate

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// aNode returns a Ready node from which no heartbeats are expected.
func aNode(name string) *event.Node {
	return &event.Node{Meta: event.Meta{UID: event.ParseUID("node/" + name), Name: name}, Ready: &event.Condition{Status: event.StatusTrue, LastTransitionTime: zero}}
}

// A loss may wait up to 15 s for its cause. Later transitions of the same address must not be reported earlier.
func TestConsumerBouncesMatchTheMetricWhileAnotherLossWaits(t *testing.T) {
	updated := func(status event.Status, reason string) *event.Pod {
		p := aPod("web-1", status, reason)
		p.Containers[0].Image = "app:2"
		return p
	}
	b := newTracked(track.Settings{})
	b.starts(aNode("node-1"), aService("web", "s", true), aPod("web-1", event.StatusTrue, ""), aPod("web-2", event.StatusTrue, ""), aSlice("s", "web-1", "web-2"))
	b.at(10).is(event.Modified, aPod("web-2", event.StatusFalse, "ContainersNotReady"), aSlice("s", "web-1", "-web-2"))
	b.at(10.1).is(event.Modified, updated(event.StatusTrue, ""))
	b.at(10.2).is(event.Modified, updated(event.StatusFalse, "ContainersNotReady"), aSlice("s", "-web-1", "-web-2"))
	b.at(10.5).is(event.Modified, updated(event.StatusTrue, ""), aSlice("s", "web-1", "-web-2"))
	b.at(11).is(event.Modified, updated(event.StatusFalse, "ContainersNotReady"), aSlice("s", "-web-1", "-web-2"))
	b.at(11.5).is(event.Modified, updated(event.StatusTrue, ""), aSlice("s", "web-1", "-web-2"))
	incidents, want := b.asOf(20), 0
	for _, x := range b.found {
		if bounced, ok := x.(transition.ConsumerMistake); ok && !bounced.Stale && bounced.Window == 0 {
			want++
		}
	}
	for _, x := range incidents {
		if x.Cause == cause.InPlaceUpdate {
			equal(t, "bounces of a consumer that gathers nothing", x.Numbers.Windows[0].Bounces, want)
			return
		}
	}
	t.Error("no incident of an update in place")
}
