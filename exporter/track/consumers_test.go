package track

import (
	"testing"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/services"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

func (s *story) inNamespace() services.Namespace {
	s.t.Helper()
	for _, x := range s.Consumers(s.now, nil) {
		if x.Name == "shop" {
			return x
		}
	}
	s.t.Fatal("nothing is counted of the namespace shop")
	return services.Namespace{}
}

func TestConsumersApplyWhatIsLeftWhenTheirWindowCloses(t *testing.T) {
	s := newStory(t, grace40).starts(aService("web", true), slice("a", "web", "web-1", "web-2", "web-3"))
	equal(t, "at the start", s.inNamespace(), services.Namespace{Name: "shop"})
	// Three addresses leave one by one and return together.
	s.at(10).modified(slice("a", "web", "-web-1", "web-2", "web-3"))
	s.at(11).modified(slice("a", "web", "-web-1", "-web-2", "web-3"))
	s.at(13).modified(slice("a", "web", "-web-1", "-web-2", "-web-3"))
	s.at(14).modified(slice("a", "web", "web-1", "web-2", "web-3"))
	s.at(30)
	// A window of 0 s applies each event. With 2 s, web-1 and web-2 are removed at 12 s, and put back at 15 s. With 5 s
	// and 10 s, all addresses are back when the window closes, at 15 s and 20 s.
	equal(t, "updates by window", s.inNamespace().Updates, [transition.NumWindows]uint64{4, 2, 0, 0})
	equal(t, "bounces by window", s.inNamespace().Bounces, [transition.NumWindows]uint64{})
}

func TestConsumersBounceWhatIsPutBackAndTakenOutAgain(t *testing.T) {
	s := newStory(t, Settings{BounceWindow: time.Minute}).starts(aService("web", true), slice("a", "web", "web-1", "web-2"))
	for _, at := range []float64{10, 16} { // the address is removed, put back too early, removed, and put back
		s.at(at).modified(slice("a", "web", "-web-1", "web-2"))
		s.at(at + 3).modified(slice("a", "web", "web-1", "web-2"))
	}
	s.at(60)
	equal(t, "bounces by window: 10 s hide it", s.inNamespace().Bounces, [transition.NumWindows]uint64{1, 1, 0, 0})
	s.at(200).modified(slice("a", "web", "-web-1", "web-2"))
	equal(t, "bounces much later", s.inNamespace().Bounces[0], 1)
}
