package track

import (
	"slices"
	"testing"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// propagations returns the measured propagation times.
func (s *story) propagations() (all []string) {
	for _, x := range of[transition.AddressFollowedPod](s) {
		all = append(all, transition.Readiness(x.Ready)+" "+x.Delay.String())
	}
	return all
}

func TestAddressThatIsSeenAheadOfItsPod(t *testing.T) {
	fails, heals := unready("ContainersNotReady"), aPod("web-1", ready, running("app:1", 0))
	out, in := slice("a", "web", "-web-1", "web-2"), slice("a", "web", "web-1", "web-2")
	published := aService("web", true)
	published.PublishNotReady = true
	other := aService("web", true)
	other.Selector = map[string]string{"app": "other"}
	for name, c := range map[string]struct {
		events func(*story)
		want   []string
	}{
		"there and back": {func(s *story) {
			s.modified(out).at(10.02).modified(fails).at(20).modified(in).at(20.05).modified(heals)
		}, []string{"not_ready 0s", "ready 0s"}},
		"read together":           {func(s *story) { s.modified(out, fails).at(20).modified(heals, in) }, []string{"not_ready 0s", "ready 0s"}},
		"and its pod too late":    {func(s *story) { s.modified(out).at(10.06).modified(fails) }, nil},
		"once for each change":    {func(s *story) { s.modified(out, fails, heals, fails) }, []string{"not_ready 0s"}},
		"and removed":             {func(s *story) { s.modified(slice("a", "web", "web-2"), fails) }, []string{"not_ready 0s"}},
		"before its Service goes": {func(s *story) { s.modified(out).deleted(aService("web", true)).modified(fails) }, nil},
		"as the Service changes":  {func(s *story) { s.modified(other, out, fails) }, nil},
		"and is published anyway": {func(s *story) { s.modified(published).at(20).modified(out, fails) }, nil},
		"after a break of its watch": {func(s *story) {
			s.watch(event.Down, event.KindEndpointSlice).at(20).watch(event.Up, event.KindEndpointSlice).modified(out, fails)
		}, nil},
		"after a break of its pod's watch": {func(s *story) {
			s.watch(event.Down, event.KindPod).at(20).watch(event.Up, event.KindPod).modified(out, fails)
		}, nil},
		"in a relist": {func(s *story) {
			s.watch(event.Down, event.KindEndpointSlice).at(20).lists(event.KindEndpointSlice, out).modified(fails)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			s := webStory(t).at(10)
			c.events(s)
			if got := s.propagations(); !slices.Equal(got, c.want) {
				t.Errorf("propagation %v, want %v", got, c.want)
			}
		})
	}
}

func TestAddressesAheadAreForgotten(t *testing.T) {
	s := webStory(t).at(10).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(20).modified(slice("a", "web", "-web-1", "-web-2"))
	equal(t, "remembered", kept(s.services, "pending"), 1)
}
