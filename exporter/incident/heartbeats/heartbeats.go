// Package heartbeats remembers what heartbeats say about the grace period: how often they come, and which came so late that a longer
// one might have helped. It also counts the silences of each node by what was decided about them, for as long as the Node exists.
package heartbeats

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Heartbeats is what is known of the heartbeats of all nodes, and of the grace period for them. The zero value knows nothing.
type Heartbeats struct {
	// GracePeriod is the one in force, 0 while it is not known.
	GracePeriod time.Duration
	// Managed: the cloud runs the control plane, so nobody can set its flags.
	Managed bool
	// defaultGrace is the default of the Kubernetes version, interval how often nodes send heartbeats; 0 while they are not known.
	defaultGrace, interval time.Duration
	// late are the late intervals of the last day, count is how many nodes there are. nodes are those that were silent.
	late  []*silence
	count int
	nodes map[string]*node
}

// Learn records the settings that decide about the grace period.
func (h *Heartbeats) Learn(x transition.GracePeriodKnown) {
	h.GracePeriod, h.Managed = x.Period, x.Managed
	h.defaultGrace, h.interval = x.Default, x.Interval
}

// Facts are what decides about the grace period, without the intervals between heartbeats.
func (h *Heartbeats) Facts() advice.GracePeriod {
	return advice.GracePeriod{Period: h.GracePeriod, Default: h.defaultGrace, Interval: h.interval, Managed: h.Managed}
}

// HeartbeatInterval is how often nodes send heartbeats.
func (h *Heartbeats) HeartbeatInterval() time.Duration { return h.Facts().Shortest() / 2 }

// Undisturbed is the longest interval between heartbeats of a node that nothing delays.
func (h *Heartbeats) Undisturbed() time.Duration { return h.Facts().Undisturbed() }
