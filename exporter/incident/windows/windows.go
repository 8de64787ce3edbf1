// Package windows counts the mistakes of clients that batch endpoint updates, for each batching window.
package windows

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/consumers"
)

// ByWindow contains the number of mistakes for each batching window in consumers.Windows.
type ByWindow [consumers.NumWindows]int

// Count counts an address that a client with the given batching window would have put back by mistake.
func (c *ByWindow) Count(window time.Duration) {
	windows := consumers.Windows()
	if i := slices.Index(windows[:], window); i >= 0 {
		c[i]++
	}
}

// Take adds the given counts.
func (c *ByWindow) Take(from ByWindow) {
	for i, n := range from {
		c[i] += n
	}
}

// Batched returns the number of mistakes of clients that batch updates. It excludes clients without batching.
func (c *ByWindow) Batched() (sum int) {
	for _, n := range c[1:] {
		sum += n
	}
	return sum
}
