package record

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/track/consumers"
)

// consumerBounces count the bounces that consumers see, by window as consumers.Windows has them.
type consumerBounces [consumers.NumWindows]int

// Count counts an address that a consumer would have put back and taken out again.
func (c *consumerBounces) Count(window time.Duration) {
	for i, x := range consumers.Windows() {
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
	for i, window := range consumers.Windows() {
		all = append(all, advice.Window{Length: window, Bounces: c[i]})
	}
	return all
}
