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
