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
