// Package heartbeats keeps the heartbeat interval and the late heartbeats, which determine the recommended grace
// period. It also counts the silences of each existing node by verdict.
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
	// Managed is set if a cloud provider runs the control plane. If so, the user cannot set the control plane's flags.
	Managed bool
	// defaultGrace is the default grace period of the Kubernetes version. interval is the heartbeat interval. Both are
	// 0 if unknown.
	defaultGrace, interval time.Duration
	// The list late holds the late heartbeats of the last day. The field count is the number of nodes in the cluster
	// when the newest late heartbeat arrived. The map nodes holds the nodes with silences or late heartbeats.
	late  []*silence
	count int
	nodes map[string]*node
	// counting is the time of the last call of StartCounting. Older silences are not counted.
	counting time.Time
}

// Learn records settings that affect the grace period.
func (h *Heartbeats) Learn(x transition.GracePeriodKnown) {
	h.GracePeriod, h.Managed = x.Period, x.Managed
	h.defaultGrace, h.interval = x.Default, x.Interval
}

// GracePeriodSettings returns the settings that affect the grace period, without measured intervals.
func (h *Heartbeats) GracePeriodSettings() advice.GracePeriod {
	return advice.GracePeriod{Period: h.GracePeriod, Default: h.defaultGrace, Interval: h.interval, Managed: h.Managed}
}

// HeartbeatInterval returns the interval at which nodes send heartbeats.
func (h *Heartbeats) HeartbeatInterval() time.Duration { return h.GracePeriodSettings().Shortest() / 2 }

// Undisturbed returns the longest possible interval between two punctual heartbeats of a node.
func (h *Heartbeats) Undisturbed() time.Duration { return h.GracePeriodSettings().Undisturbed() }
