package track

import (
	"fmt"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/cause"
	"github.com/kubeflap/kubeflap/exporter/event"
)

// version sets an object's resourceVersion.
func version[T event.Object](n int, o T) T {
	o.Metadata().ResourceVersion = fmt.Sprint(n)
	return o
}

func TestAWatchIsKnownToLagWhenItShowsAWriteAfterALaterOne(t *testing.T) {
	s := webStory(t)
	for at := 10; at < 40; at++ {
		s.at(float64(at)).modified(version(1000+at, lease("node-1", float64(at))))
	}
	s.at(39.1).modified(version(1039, aPod("web-1", ready, running("app:1", 0))))
	equal(t, "pods, in order", s.watches.LaggingUntil(event.KindPod).After(s.now), false)
	s.at(39.2).modified(version(1038, aNode("node-1", ready, -100)))
	equal(t, "nodes, a write that was a second old when a later one was seen 0.2 s ago", s.watches.LaggingUntil(event.KindNode).After(s.now), false)
	s.at(39.6).modified(version(1037, aNode("node-1", ready, -100)))
	equal(t, "nodes, 1.6 s behind", s.watches.LaggingUntil(event.KindNode).After(s.now), true)
	equal(t, "long after", s.watches.LaggingUntil(event.KindNode).After(clock(400)), false)
}

func TestAProbeThatFailedWaitsForANodeWhoseWatchIsKnownToLag(t *testing.T) {
	story := func(behind bool) *story {
		s := webStory(t)
		s.at(10).modified(version(1000, lease("node-1", 10)))
		if behind {
			s.at(11.5).modified(version(999, aNode("node-1", ready, -100)))
		}
		s.at(20).modified(version(1001, unready("ContainersNotReady")), version(1002, slice("a", "web", "-web-1", "web-2")))
		s.at(30).modified(version(1000, aNode("node-1", notReady, 20)))
		s.Advance(clock(60))
		return s
	}
	equal(t, "known to lag", story(true).losses(cause.NodeNotReady), 1)
	equal(t, "not known to", story(false).losses(cause.ProbeFailed), 1)
}

// TestANodeThatFailsLaterDoesNotExplainAProbeThatFailedBefore covers a node that fails 6 s after the pod has recovered.
// A replica with a lagging node watch is still waiting then, and must not blame the node.
func TestANodeThatFailsLaterDoesNotExplainAProbeThatFailedBefore(t *testing.T) {
	for _, behind := range []bool{false, true} {
		s := webStory(t)
		s.at(10).modified(version(1000, lease("node-1", 10)))
		if behind {
			s.at(11.5).modified(version(999, aNode("node-1", ready, -100)))
		}
		failed := unready("ContainersNotReady", func(p *event.Pod) { p.Ready.LastTransitionTime = clock(20) })
		s.at(20).modified(version(1001, failed), version(1002, slice("a", "web", "-web-1", "web-2")))
		s.at(21).modified(version(1003, aPod("web-1", ready, running("app:1", 0))), version(1004, slice("a", "web", "web-1", "web-2")))
		s.at(27.5).modified(version(1005, aNode("node-1", notReady, 26)))
		s.Advance(clock(60))
		equal(t, fmt.Sprintf("failed probes, lagging %v", behind), s.losses(cause.ProbeFailed), 1)
	}
}
