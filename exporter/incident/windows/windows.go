// Package windows counts the addresses that simulated clients put back by mistake. It has one count for each batching
// window of the clients.
package windows

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/consumers"
)

// ByWindow contains one count for each batching window in consumers.Windows.
type ByWindow [consumers.NumWindows]int

// Count counts an address that a client with the given batching window put back by mistake.
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

// Batched returns the total for all clients that batch updates.
func (c *ByWindow) Batched() (sum int) {
	for _, n := range c[1:] {
		sum += n
	}
	return sum
}
