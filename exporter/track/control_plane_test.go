package track

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func apiServer(name string, renewed float64) *event.ControlPlaneLease {
	return &event.ControlPlaneLease{
		Meta: event.Meta{UID: event.ParseUID(name), Namespace: "kube-system", Name: event.LeaseAPIServerPrefix + name}, RenewTime: clock(renewed),
	}
}

// controlPlane returns the transitions of control-plane Leases as text.
func (s *story) controlPlane() string {
	var all []string
	for _, x := range s.transitions() {
		switch x := x.(type) {
		case transition.ControlPlaneLeaseLate:
			all = append(all, fmt.Sprintf("%s late since %v", x.Name, x.Since.Sub(zero)))
		case transition.ControlPlaneLeaseRenewed:
			all = append(all, fmt.Sprintf("%s renewed after %v, in time %t", x.Name, x.Silence, x.InTime))
		case transition.LeaderChanged:
			all = append(all, x.String())
		}
	}
	return strings.Join(all, "; ")
}

func TestLeasesOfTheControlPlaneThatAreNotRenewed(t *testing.T) {
	begin := func() *story {
		s := newStory(t, grace40).starts(lease("node-1", 0)).lists(event.KindControlPlaneLease, apiServer("a", 0), apiServer("b", 0), apiServer("old", -3000), leader("one", 0))
		for second := 2; second <= 60; second += 2 {
			s.at(float64(second)).modified(leader("one", float64(second)))
			if second%10 == 0 {
				s.modified(apiServer("a", float64(second)), apiServer("b", float64(second)))
			}
		}
		return s
	}
	equal(t, "all are renewed, but one of an API server that was removed", begin().controlPlane(), "")

	s := begin()
	for second := 62; second <= 120; second += 2 {
		s.at(float64(second)).modified(leader("one", float64(second)))
		if second%10 == 0 {
			s.modified(apiServer("a", float64(second)))
		}
	}
	s.at(121).modified(apiServer("b", 121))
	equal(t, "an API server stops", s.controlPlane(), "apiserver-b late since 1m0s; apiserver-b renewed after 1m1s, in time false")

	s = begin().at(70).modified(apiServer("a", 70), apiServer("b", 70))
	s.at(76).modified(leader("two", 76))
	equal(t, "the leader stops, and another one takes over", s.controlPlane(),
		"kube-controller-manager late since 1m0s; new leader of the kube-controller-manager: two; kube-controller-manager renewed after 16s, in time false")

	s = begin().at(120).modified(apiServer("a", 70), leader("one", 62))
	s.at(120.5).modified(apiServer("a", 120.4), leader("one", 120.4), apiServer("b", 120.5))
	equal(t, "etcd stalls, and writes that have waited come first", s.controlPlane(), "apiserver-a late since 1m0s; apiserver-b late since 1m0s; kube-controller-manager late since 1m0s; "+
		"apiserver-a renewed after 1m0.5s, in time false; kube-controller-manager renewed after 1m0.5s, in time false; apiserver-b renewed after 1m0.5s, in time false")

	s = begin().at(110)
	for second := 62; second <= 110; second += 2 {
		s.modified(leader("one", float64(second)))
		if second%10 == 0 {
			s.modified(apiServer("a", float64(second)), apiServer("b", float64(second)))
		}
	}
	equal(t, "the watch stood still", s.controlPlane(), "apiserver-a late since 1m0s; apiserver-b late since 1m0s; kube-controller-manager late since 1m0s; "+
		"kube-controller-manager renewed after 50s, in time true; apiserver-a renewed after 50s, in time true; apiserver-b renewed after 50s, in time true")
}
