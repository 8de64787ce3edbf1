package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/pods"
)

// managed returns the Endpoints of the Service web as the controller writes them.
func managed(addresses ...string) *event.Endpoints {
	o := handWritten("web")
	for i, a := range addresses {
		o.Addresses = append(o.Addresses, addressOf(a, i))
	}
	return o
}

func TestDivergence(t *testing.T) {
	conflict := managed("web-1", "web-2")
	conflict.Addresses = append(conflict.Addresses, handWritten("web", "192.0.2.1").Addresses...)
	publishing := aService("web", true)
	publishing.PublishNotReady = true
	cases := []struct {
		name   string
		events func(*story)
		want   int
	}{
		{"nothing changed", func(*story) {}, 0},
		{"the pod is not ready, and nobody followed", func(s *story) { s.modified(unready("ContainersNotReady")) }, 1},
		{"the slice did not follow", func(s *story) {
			s.modified(unready("ContainersNotReady"), managed("-web-1", "web-2"))
		}, 1},
		{"Endpoints did not follow", func(s *story) {
			s.modified(unready("ContainersNotReady"), slice("a", "web", "-web-1", "web-2"))
		}, 1},
		{"all followed", func(s *story) {
			s.modified(unready("ContainersNotReady"), slice("a", "web", "-web-1", "web-2"), managed("-web-1", "web-2"))
		}, 0},
		{"Endpoints have an address that no slice has", func(s *story) {
			s.modified(managed("web-1", "web-2", "web-3"))
		}, 1},
		{"Endpoints lack an address", func(s *story) { s.modified(managed("web-1")) }, 1},
		{"Endpoints that leave addresses out are not compared", func(s *story) {
			o := managed("web-1")
			o.Truncated = true
			s.modified(o)
		}, 0},
		{"what is written by hand for a Service with a selector is told of otherwise", func(s *story) { s.modified(conflict) }, 0},
		{"a deleted pod's address stays ready", func(s *story) {
			p := aPod("web-1", ready)
			deleting(p)
			s.modified(p)
		}, 1},
		{"publishNotReadyAddresses: the pod's readiness is not asked for", func(s *story) {
			s.modified(publishing, unready("ContainersNotReady"))
		}, 0},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			s := webStory(t).lists(event.KindEndpoints, managed("web-1", "web-2"))
			s.at(5)
			s.Advance(s.now)
			s.at(10)
			c.events(s)
			s.at(19)
			equal(t, "within 10 s", s.service("web").Diverging, 0)
			s.at(21)
			equal(t, "after 10 s", s.service("web").Diverging, c.want)
		})
	}
}

func TestDivergenceEndsWhenAllAgree(t *testing.T) {
	s := webStory(t).lists(event.KindEndpoints, managed("web-1", "web-2"))
	s.at(10).modified(managed("-web-1", "web-2"))
	s.at(30)
	equal(t, "while Endpoints lie", s.service("web").Diverging, 1)
	s.modified(managed("web-1", "web-2"))
	s.at(32)
	equal(t, "once they agree", s.service("web").Diverging, 0)
}

func TestPodPutsAllItsServicesInDoubtAndNoOther(t *testing.T) {
	s := newStory(t, grace40).starts(aPod("web-1", ready), aPod("web-2", ready))
	for _, name := range []string{"both", "gone", "web"} {
		s.added(aService(name, true), slice(name, name, "web-1"))
	}
	s.added(aService("other", true), slice("other", "other", "web-2"))
	s.at(5).deleted(aService("gone", true), slice("gone", "gone", "web-1"))
	s.at(10).modified(aPod("web-1", notReady))
	s.at(21)
	for name, want := range map[string]int{"both": 1, "web": 1, "other": 0} {
		equal(t, name, s.service(name).Diverging, want)
	}
	s.modified(aPod("web-2", notReady))
	s.at(32)
	for _, name := range []string{"both", "web", "other"} {
		equal(t, name, s.service(name).Diverging, 1)
	}
}

func TestPodsThatAreMisreported(t *testing.T) {
	misreported := func(s *story) int {
		n := 0
		for _, m := range s.Misreported(s.now, nil) {
			n += m.Pods
		}
		return n
	}
	t.Run("not Ready on a node that has recovered", func(t *testing.T) {
		s := webStory(t).at(10).modified(unknownSince("node-1", 10)).modified(unready("", containersReady))
		s.at(60)
		equal(t, "while the node is lost", misreported(s)-1, 0) // web-2 is Ready on a lost node
		s.modified(lease("node-1", 60), aNode("node-1", ready, 60))
		s.at(69)
		equal(t, "while the kubelet has time", misreported(s), 0)
		s.at(71)
		if got := s.Misreported(s.now, nil); len(got) != 1 || got[0] != (pods.Misreported{Namespace: "shop", Kind: pods.UnreadyAfterRecovery, Pods: 1}) {
			t.Errorf("after that: %v", got)
		}
		s.modified(aPod("web-1", ready))
		equal(t, "once it is restored", misreported(s), 0)
	})
	t.Run("Ready on a node that is lost", func(t *testing.T) {
		s := webStory(t).at(10).modified(lease("node-1", 10))
		s.at(50)
		equal(t, "within the grace period", misreported(s), 0)
		s.at(51.5)
		if got := s.Misreported(s.now, nil); len(got) != 1 || got[0] != (pods.Misreported{Namespace: "shop", Kind: pods.ReadyOnLostNode, Pods: 2}) {
			t.Errorf("after it: %v", got)
		}
		s.modified(aPod("web-1", notReady))
		equal(t, "once one is marked", misreported(s), 1)
		s.modified(aPod("web-1", ready)).deleted(aPod("web-2", ready))
		equal(t, "once that one is Ready again and the other is gone", misreported(s), 1)
		s.modified(lease("node-1", 51))
		equal(t, "once the node is back", misreported(s), 0)
	})
	t.Run("not Ready by a gate or a probe is as it should be", func(t *testing.T) {
		gate := unready("ReadinessGatesNotReady", containersReady)
		gate.GatesNotReady = []string{"example.com/gate"}
		s := webStory(t).at(10).modified(gate)
		s.at(39)
		equal(t, "by a gate", misreported(s), 0)
		s.modified(unready("ContainersNotReady"))
		s.at(39.5)
		equal(t, "by a probe", misreported(s), 0)
	})
}

func TestClockOffset(t *testing.T) {
	s := newStory(t, grace40).starts(aNode("node-1", ready, 0), lease("node-1", 0))
	equal(t, "known before a renewal was seen", s.node("node-1").ClockKnown, false)
	for _, at := range []float64{10, 20, 30} {
		s.at(at + 0.02).modified(lease("node-1", at-3600))
	}
	s.at(40.01).modified(lease("node-1", 40-3600))
	equal(t, "renewals behind the first one do not count", s.node("node-1").ClockKnown, false)
	s.at(50.05).modified(lease("node-1", 45))
	s.at(60.02).modified(lease("node-1", 55))
	n := s.node("node-1")
	equal(t, "known", n.ClockKnown, true)
	equal(t, "offset: the smallest", seconds(n.ClockOffset), 5.02)
}
