package track

import (
	"fmt"
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/watches"
)

func (s *story) breaks(reason event.Reason, kinds ...event.Kind) *story {
	for _, k := range kinds {
		s.Apply(event.Event{Seen: s.now, Kind: k, Type: event.Down, Reason: reason})
	}
	return s
}

func (s *story) blind(k event.Kind) float64 {
	for _, w := range s.Watches(s.now, nil) {
		if w.Resource == k {
			return seconds(w.Blind)
		}
	}
	return -1
}

func deleting(p *event.Pod) { p.DeletionTimestamp = clock(40) }

// webStory begins with a Service and its pods web-1 and web-2 on node-1.
func webStory(t *testing.T) *story {
	node := aNode("node-1", ready, -100)
	node.KubeletVersion = "v1.36.3"
	return newStory(t, grace40).starts(node, lease("node-1", 0), aService("web", true),
		aPod("web-1", ready, running("app:1", 0)), aPod("web-2", ready, running("app:1", 0)),
		slice("a", "web", "web-1", "web-2"))
}

func apiServer(name string, renewed float64) *event.ControlPlaneLease {
	return &event.ControlPlaneLease{
		Meta: event.Meta{UID: event.ParseUID(name), Namespace: "kube-system", Name: event.LeaseAPIServerPrefix + name}, RenewTime: clock(renewed),
	}
}

const (
	ready    = event.StatusTrue
	notReady = event.StatusFalse
	unknown  = event.StatusUnknown
)

var grace40 = Settings{GracePeriod: 40 * time.Second}

// version sets an object's resourceVersion.
func version[T event.Object](n int, o T) T {
	o.Metadata().ResourceVersion = fmt.Sprint(n)
	return o
}

func running(image string, restarts int32) event.Container {
	return event.Container{Name: "app", Image: image, Restarts: restarts, State: "running", Ready: true}
}

// leader returns the Lease of the leading kube-controller-manager.
func leader(holder string, renewed float64) *event.ControlPlaneLease {
	return &event.ControlPlaneLease{
		Meta: event.Meta{UID: event.ParseUID("leader"), Namespace: "kube-system", Name: event.LeaseControllerManager}, Holder: holder, RenewTime: clock(renewed),
	}
}

// threeNodes returns a story of three nodes that renewed at 9, 10 and 11 s, with a grace period of 40 s.
func threeNodes(t *testing.T) *story {
	s := newStory(t, grace40).starts(aNode("a", ready, 0), aNode("b", ready, 0), aNode("c", ready, 0),
		lease("a", 0), lease("b", 0), lease("c", 0))
	for i, name := range []string{"a", "b", "c"} {
		at := float64(9 + i)
		s.at(at).modified(lease(name, at))
	}
	return s
}

func (s *story) unavailable(reason event.Reason, k event.Kind) *story {
	s.Apply(event.Event{Seen: s.now, Kind: k, Type: event.Unavailable, Reason: reason})
	return s
}

func (s *story) notWatched() []watches.Watch { return s.Coverage(s.now).NotWatched }
