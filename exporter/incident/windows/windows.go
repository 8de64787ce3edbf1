// Package windows counts what clients that batch endpoint updates would have done wrong, by the length of their window.
package windows

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/consumers"
)

// ByWindow counts the errors of consumers, with one count per batching window of consumers.Windows.
type ByWindow [consumers.NumWindows]int

// Count counts an address that a consumer would have put back wrongly.
func (c *ByWindow) Count(window time.Duration) {
	windows := consumers.Windows()
	if i := slices.Index(windows[:], window); i >= 0 {
		c[i]++
	}
}

// Take adds other counts.
func (c *ByWindow) Take(from ByWindow) {
	for i, n := range from {
		c[i] += n
	}
}

// Batched is how many consumers with a window above 0 count.
func (c *ByWindow) Batched() (sum int) {
	for _, n := range c[1:] {
		sum += n
	}
	return sum
}
