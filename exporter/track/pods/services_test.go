package pods

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
)

type service struct{ exists bool }

func (s *service) Exists() bool { return s.exists }

func TestPodThatStaysForgetsTheServicesThatHeldIt(t *testing.T) {
	x := newStore()
	p := x.newPod(&event.Pod{}, &namespace{})
	for range 5 {
		s := &service{true}
		x.JoinService(p, s)
		s.exists = false
	}
	if n := len(x.of(p).services); n != 1 {
		t.Errorf("it remembers %d Services", n)
	}
}

func TestUpdatedPodStaysInItsServices(t *testing.T) {
	x := newStore()
	o := &event.Pod{Containers: []event.Container{{Image: "app:1"}}}
	p := x.newPod(o, &namespace{})
	x.JoinService(p, &service{true})
	o.Containers[0].Image = "app:2"
	x.update(p, o)
	if n := len(x.of(p).services); n != 1 {
		t.Errorf("it belongs to %d Services", n)
	}
}
