package track

import (
	"fmt"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// leader returns the Lease of the leading kube-controller-manager.
func leader(holder string, renewed float64) *event.ControlPlaneLease {
	return &event.ControlPlaneLease{
		Meta: event.Meta{UID: event.ParseUID("leader"), Namespace: "kube-system", Name: event.LeaseControllerManager}, Holder: holder, RenewTime: clock(renewed),
	}
}

// deadNode returns a story in which node a is silent from 9 s on. Until the given second, the other nodes renew every
// 10 s and the leader every 2 s.
func deadNode(t *testing.T, until int, leads func(second int) string) *story {
	s := threeNodes(t).at(11).lists(event.KindControlPlaneLease)
	for second := 12; second <= until; second++ {
		s.at(float64(second))
		if second%10 == 0 {
			s.modified(lease("b", float64(second)), lease("c", float64(second)))
		}
		if holder := leads(second); holder != "" && second%2 == 0 {
			s.modified(leader(holder, float64(second)))
		}
		if second%15 == 0 {
			s.watch(event.Bookmark, event.KindNode)
		}
	}
	return s
}

// notMarked lists the nodes that were reported as silent but Ready, with the times.
func (s *story) notMarked() (text string) {
	for _, x := range of[transition.NodeNotMarked](s) {
		certain := "perhaps"
		if x.Certain {
			certain = "certainly"
		}
		text += fmt.Sprintf("%s %v %s; ", x.Node, x.Time.Sub(zero), certain)
	}
	return text
}

// TestReadyIsNotKnownWhileTheWatchOfNodesIsSilent covers a silent node watch, which would not show Unknown either.
func TestReadyIsNotKnownWhileTheWatchOfNodesIsSilent(t *testing.T) {
	s := deadNode(t, 44, func(int) string { return "one" })
	for second := 45; second <= 300; second += 5 {
		s.at(float64(second)).modified(lease("b", float64(second)), leader("one", float64(second)))
	}
	equal(t, "found", s.notMarked(), "")
}

// TestTheLeaseOfASilentNodeIsReadToSeeWhetherTheAPIServerAnswers checks that kubeflap reads Leases directly if there is
// only one node, because no other heartbeat can prove that the API server answers.
func TestTheLeaseOfASilentNodeIsReadToSeeWhetherTheAPIServerAnswers(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("a", ready, 0), lease("a", 0)).at(9).modified(lease("a", 9))
	for tenth := 90; tenth < 2000; tenth++ {
		s.at(float64(tenth) / 10)
		if s.asks() != "" {
			s.reads("", lease("a", 9))
		}
		if tenth%300 == 0 {
			s.watch(event.Bookmark, event.KindNode)
		}
	}
	equal(t, "found", s.notMarked(), "a 1m30s perhaps; a 2m0s certainly; ")
}
