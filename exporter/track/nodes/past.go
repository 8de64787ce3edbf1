package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
)

// Past is what the lists of Nodes and Leases do not show.
type Past struct {
	// GracePeriod holds the samples of the grace period.
	GracePeriod []controlplane.Episode `json:"grace_period"`
	// Silences holds the silences since the given time.
	Silences []controlplane.Silence `json:"silences"`
	Since    time.Time              `json:"since"`
}

// Past returns what was known at t. Pass it to Restore.
func (x *Nodes) Past(t time.Time) Past {
	ended := slices.DeleteFunc(slices.Clone(x.silences), func(s controlplane.Silence) bool { return s.Ended.After(t) })
	return Past{x.grace.Episodes(t), ended, x.silencesSince}
}

// Restore takes over an earlier Past. Call it before the first event.
func (x *Nodes) Restore(p Past) {
	x.grace.Restore(p.GracePeriod)
	x.silences, x.silencesSince = p.Silences, p.Since
}
