package nodes

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/event"
	"github.com/kubeflap/kubeflap/exporter/track/controlplane"
	"github.com/kubeflap/kubeflap/exporter/track/departure"
)

// Past is what the lists of Nodes and Leases do not show.
type Past struct {
	// GracePeriod holds the samples of the grace period.
	GracePeriod []controlplane.Episode `json:"grace_period"`
	// Silences holds the silences since the given time.
	Silences []controlplane.Silence `json:"silences"`
	Since    time.Time              `json:"since"`
	// Cordoned holds the cordoned nodes, by the UID of the Node.
	Cordoned map[event.UID]departure.Past `json:"cordoned,omitempty"`
}

// Past returns what was known at t. Pass it to Restore.
func (x *Nodes) Past(t time.Time) Past {
	p := Past{x.grace.Episodes(t), slices.Clone(x.silences), x.silencesSince, map[event.UID]departure.Past{}}
	p.Silences = slices.DeleteFunc(p.Silences, func(s controlplane.Silence) bool { return s.Ended.After(t) })
	for _, n := range x.nodes {
		if cordoned, ok := n.departure.Past(); ok && n.exists {
			p.Cordoned[n.uid] = cordoned
		}
	}
	return p
}

// Restore takes over an earlier Past. Call it before the first event.
func (x *Nodes) Restore(p Past) {
	x.grace.Restore(p.GracePeriod)
	x.silences, x.silencesSince, x.cordoned = p.Silences, p.Since, p.Cordoned
}
