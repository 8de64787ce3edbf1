package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/track"
)

// consumerBounces count the bounces that consumers see, by window as track.Windows has them.
type consumerBounces [track.NumWindows]int

// Count counts an address that a consumer would have put back and taken out again.
func (c *consumerBounces) Count(window time.Duration) {
	for i, x := range track.Windows() {
		if x == window {
			c[i]++
		}
	}
}

func (c *consumerBounces) take(from consumerBounces) {
	for i, n := range from {
		c[i] += n
	}
}

func (c *consumerBounces) windows() []advice.Window {
	var all []advice.Window
	for i, window := range track.Windows() {
		all = append(all, advice.Window{Length: window, Bounces: c[i]})
	}
	return all
}
