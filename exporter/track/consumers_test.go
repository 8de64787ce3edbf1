package track

import (
	"testing"

	"github.com/kubeflap/kubeflap/exporter/transition"
)

// consumerBounces counts the bounces of simulated clients by window.
func (s *story) consumerBounces() (by [transition.NumWindows]uint64) {
	for _, x := range of[transition.ConsumerMistake](s) {
		for i, window := range transition.Windows() {
			if x.Window == window && !x.Stale {
				by[i]++
			}
		}
	}
	return by
}

func TestConsumersBounceWhatIsPutBackAndTakenOutAgain(t *testing.T) {
	s := newStory(t, Settings{}).starts(aService("web", true), slice("a", "web", "web-1", "web-2"))
	for _, at := range []float64{10, 16} { // the address is removed, put back too early, removed, and put back
		s.at(at).modified(slice("a", "web", "-web-1", "web-2"))
		s.at(at + 3).modified(slice("a", "web", "web-1", "web-2"))
	}
	s.at(60)
	equal(t, "bounces by window: 10 s hide it", s.consumerBounces(), [transition.NumWindows]uint64{1, 1, 0, 0})
	s.at(200).modified(slice("a", "web", "-web-1", "web-2"))
	s.at(300)
	equal(t, "bounces much later", s.consumerBounces()[0], 1)
}
