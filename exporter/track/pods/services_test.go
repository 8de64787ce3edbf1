package pods

import "testing"

type service struct{ exists bool }

func (s *service) Exists() bool { return s.exists }

func TestPodThatStaysForgetsTheServicesThatHeldIt(t *testing.T) {
	p := &Pod{}
	for range 5 {
		s := &service{true}
		p.JoinService(&ServiceList{Service: s})
		s.exists = false
	}
	if l := p.services; l == nil || l.Rest != nil {
		t.Error("it remembers more than one Service")
	}
}

func TestPodsShareTheListOfTheirOnlyService(t *testing.T) {
	alone := &ServiceList{Service: &service{true}}
	p, q := &Pod{}, &Pod{}
	p.JoinService(alone)
	q.JoinService(alone)
	p.JoinService(alone)
	if p.services != alone || q.services != alone {
		t.Error("a list was made for each pod")
	}
}
