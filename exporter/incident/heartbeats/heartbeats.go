// Package heartbeats keeps the facts that determine the recommended grace period. These are the heartbeat interval, and
// late heartbeats that a longer grace period might have tolerated. The package also counts the silences of each
// existing node by verdict.
package heartbeats

import (
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/transition"
)

// Heartbeats holds the heartbeat statistics of all nodes and the settings of the grace period. The zero value is empty.
type Heartbeats struct {
	// GracePeriod is the current grace period, or 0 if unknown.
	GracePeriod time.Duration
	// Managed is set if a cloud provider runs the control plane. The user cannot set the control plane's flags then.
	Managed bool
	// defaultGrace is the default grace period of the Kubernetes version. interval is the heartbeat interval. Both are
	// 0 if unknown.
	defaultGrace, interval time.Duration
	// late holds an interval for each late heartbeat of the last day. count is the number of nodes in the cluster when
	// the last of these heartbeats arrived. nodes holds the nodes with silences or late heartbeats.
	late  []*silence
	count int
	nodes map[string]*node
}

// Learn records settings that affect the grace period.
func (h *Heartbeats) Learn(x transition.GracePeriodKnown) {
	h.GracePeriod, h.Managed = x.Period, x.Managed
	h.defaultGrace, h.interval = x.Default, x.Interval
}

// Facts returns the settings that affect the grace period, without measured intervals.
func (h *Heartbeats) Facts() advice.GracePeriod {
	return advice.GracePeriod{Period: h.GracePeriod, Default: h.defaultGrace, Interval: h.interval, Managed: h.Managed}
}

// HeartbeatInterval returns the interval at which nodes send heartbeats.
func (h *Heartbeats) HeartbeatInterval() time.Duration { return h.Facts().Shortest() / 2 }

// Undisturbed returns the longest interval between two heartbeats of a node if nothing delays the heartbeats.
func (h *Heartbeats) Undisturbed() time.Duration { return h.Facts().Undisturbed() }
