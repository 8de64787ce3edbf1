package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/grace"
)

// Past is what the lists of Nodes and Leases do not show.
type Past struct {
	// GracePeriod holds the samples of the grace period.
	GracePeriod []grace.Episode `json:"grace_period"`
	// Silences holds the silences since the given time.
	Silences []grace.Silence `json:"silences"`
	Since    time.Time       `json:"since"`
}

// Past returns what to pass to Restore.
func (x *Nodes) Past() Past {
	return Past{x.grace.Episodes(), slices.Clone(x.silences), x.silencesSince()}
}

// Restore takes over an earlier Past. Call it before the first event.
func (x *Nodes) Restore(p Past) {
	x.grace.Restore(p.GracePeriod)
	x.silences, x.restoredSince = p.Silences, p.Since
}
