package consumers

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

type service struct {
	ready bool
	set   Set
}

func (s *service) Exists() bool    { return true }
func (s *service) Consumers() *Set { return &s.set }
func (s *service) Named() transition.Service {
	return transition.Service{Namespace: "shop", Name: "web"}
}
func (s *service) IsReady(event.UID) bool { return s.ready }

func TestConsumersAreKeptAsLongAsAnAddressMayBounce(t *testing.T) {
	begin := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	w := watches.New()
	w.AdvanceTo(begin)
	c, s := New(w, &pods{}, time.Minute), &service{}
	c.Changed(s, event.ParseUID("pod/web-1"), true, begin.Add(10*time.Second))
	c.Close(begin.Add(30 * time.Second))
	for _, x := range []struct {
		after time.Duration
		kept  bool
	}{{60 * time.Second, true}, {190 * time.Second, false}} {
		if c.Forget(s, begin.Add(x.after)); (s.set.byWindow != nil) != x.kept {
			t.Errorf("after %s: kept %v, want %v", x.after, !x.kept, x.kept)
		}
	}
}

type pods struct{ updating bool }

func (p *pods) Named(event.UID) transition.Pod           { return transition.Pod{} }
func (p *pods) IsBeingUpdated(event.UID, time.Time) bool { return p.updating }

func TestUpdatesThatAreOverAreForgotten(t *testing.T) {
	p := &pods{updating: true}
	c := New(watches.New(), p, time.Minute)
	s := &service{ready: true}
	c.ImageUpdated(s, event.ParseUID("pod/web-1"))
	for _, updating := range []bool{true, false} {
		p.updating = updating
		if c.Forget(s, time.Time{}); (s.set.stale != nil) != updating {
			t.Errorf("while the update lasts (%v): kept %v", updating, s.set.stale != nil)
		}
	}
}
