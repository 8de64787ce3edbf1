package ledger

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// rebootShown is the maximum time from the first heartbeat of a rebooted node until the node reports its new
	// bootID. upgradeShown is the maximum time from the first heartbeat of an upgraded kubelet until the kubelet
	// reports its version. A kubelet reports both values in the node status when it starts.
	rebootShown  = 5 * time.Minute
	upgradeShown = time.Minute
)

// Heartbeats holds the heartbeat statistics of all nodes: the late heartbeats, which determine the recommended grace
// period, and the silences of each existing node. The zero value is empty.
type Heartbeats struct {
	// Settings affect the grace period. The measured interval is not set.
	Settings advice.GracePeriod
	// The list late holds the late heartbeats of the last day. The field count is the number of nodes in the cluster
	// when the newest late heartbeat arrived. The map nodes holds the nodes with silences or late heartbeats.
	late  []*silence
	count int
	nodes map[string]*silences
	// counting is the time of the last call of startCounting. Older silences are not counted.
	counting time.Time
}

// Learn records settings that affect the grace period.
func (h *Heartbeats) Learn(x transition.GracePeriodKnown) {
	h.Settings = advice.GracePeriod{Period: x.Period, Default: x.Default, Interval: x.Interval, Managed: x.Managed}
}

// WithOneLost returns the interval between two received heartbeats if one heartbeat between them gets lost.
func (h *Heartbeats) WithOneLost() time.Duration { return 2 * (h.Settings.Shortest() / 2) }

// Undisturbed returns the longest possible interval between two punctual heartbeats of a node.
func (h *Heartbeats) Undisturbed() time.Duration { return h.Settings.Undisturbed() }

// CommonCauseWindow returns the maximum time between two node losses that may have a common cause. This is the grace
// period, because heartbeats of different nodes are spread over a shorter time.
func (h *Heartbeats) CommonCauseWindow() time.Duration {
	return cmp.Or(h.Settings.Period, advice.DefaultGracePeriod)
}

// IsLate reports whether the interval between two heartbeats is long enough to affect the recommended grace period.
func (h *Heartbeats) IsLate(interval time.Duration) bool {
	return 2*interval > h.Settings.Period && interval > h.Settings.LateThreshold()
}

func (h *Heartbeats) of(name string) *silences {
	n := h.nodes[name]
	if n == nil {
		if h.nodes == nil {
			h.nodes = map[string]*silences{}
		}
		n = &silences{}
		h.nodes[name] = n
	}
	return n
}

// BecameLate records that a heartbeat is late. The parameter `announced` describes how the node's departure was
// announced. It is empty if there was no announcement.
func (h *Heartbeats) BecameLate(name string, t time.Time, announced string) {
	n := h.of(name)
	n.becameLate, n.announced = t, announced
}

// AddSilence records a silence that belongs to an incident.
func (h *Heartbeats) AddSilence(x *verdict.Silence) { h.add(h.of(x.Node), &silence{Silence: x}) }

// RemoveSilence removes a silence that did not happen after all.
func (h *Heartbeats) RemoveSilence(x *verdict.Silence) {
	n, isX := h.of(x.Node), func(s *silence) bool { return s.Silence == x }
	n.revisable, h.late = slices.DeleteFunc(n.revisable, isX), slices.DeleteFunc(h.late, isX)
}

// NodeRemoved forgets a deleted Node.
func (h *Heartbeats) NodeRemoved(name string) { delete(h.nodes, name) }

// NodeRebooted records that a node reported a new bootID. It returns the silence that the reboot explains, or nil.
func (h *Heartbeats) NodeRebooted(name string, t time.Time) *verdict.Silence {
	n := h.of(name)
	n.rebooted = t
	for _, x := range n.revisable {
		x.mayBeReboot = x.mayBeReboot || t.Sub(x.Ended) <= rebootShown
	}
	x := n.endedBy(t, rebootShown)
	if x != nil {
		x.Rebooted = true
	}
	return x
}

// KubeletUpgraded records that a kubelet reported a different version. It returns the silence that the upgrade
// explains, or nil.
func (h *Heartbeats) KubeletUpgraded(name string, t time.Time) *verdict.Silence {
	n := h.of(name)
	n.upgraded = t
	x := n.endedBy(t, upgradeShown)
	if x != nil {
		x.Upgraded = true
	}
	return x
}

// ClockSetBack records that a node's clock was set back.
func (h *Heartbeats) ClockSetBack(name string, t time.Time, by time.Duration) {
	n := h.of(name)
	n.setBack, n.by = t, by
}

// startCounting sets the counters to zero at t.
func (h *Heartbeats) startCounting(t time.Time) {
	h.counting = t
	for _, n := range h.nodes {
		n.older = nil
	}
}
