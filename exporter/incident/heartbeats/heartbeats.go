// Package heartbeats remembers what heartbeats say about the grace period: how often they come, and which came so late that a longer
// one might have helped.
package heartbeats

import (
	"cmp"
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/transition"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// lateFor is for how long one late heartbeat speaks for a longer grace period. If it missed the grace period, or if the node was late often, it
	// does so for lateRemembered.
	lateFor        = 10 * time.Minute
	lateRemembered = 24 * time.Hour
	often          = 3
	maxLate        = 500
	// bootReported is how soon after its first heartbeat a rebooted node reports its bootID.
	bootReported = 5 * time.Minute
)

// Heartbeats is what is known of the heartbeats of all nodes, and of the grace period for them. The zero value knows nothing.
type Heartbeats struct {
	// GracePeriod is the one in force, 0 while it is not known.
	GracePeriod time.Duration
	// Managed: the cloud runs the control plane, so nobody can set its flags.
	Managed bool
	// defaultGrace is the default of the Kubernetes version, interval how often nodes send heartbeats; 0 while they are not known.
	defaultGrace, interval time.Duration
	// late are the late heartbeats of the last day, nodes is how many nodes there are.
	late  []lateHeartbeat
	nodes int
}

// Cluster is what else decides whether a late heartbeat speaks for a longer grace period.
type Cluster struct {
	Now     time.Time
	History *verdict.History
	// NodeLoss are the facts about some silences in a cluster of so many nodes.
	NodeLoss func(silences []verdict.Silence, nodes int) *verdict.NodeLoss
}

// lateHeartbeat is an interval that was so long that the grace period matters.
type lateHeartbeat struct {
	verdict.Silence
	missed bool
}

// Learn takes in what decides about the grace period.
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

// IsLate reports whether an interval between two heartbeats is so long that the grace period matters.
func (h *Heartbeats) IsLate(interval time.Duration) bool {
	return 2*interval > h.GracePeriod && interval > h.Facts().Late()
}

// NoteLate takes in a late interval between two heartbeats of a node, the second one at t. nodes is how many there are.
func (h *Heartbeats) NoteLate(node string, t time.Time, interval time.Duration, nodes int) {
	h.nodes = nodes
	h.late = append(h.late, lateHeartbeat{
		verdict.Silence{Node: node, Began: t.Add(-interval), Ended: t}, h.GracePeriod > 0 && interval > h.GracePeriod,
	})
	old := t.Add(-lateRemembered)
	keep := slices.IndexFunc(h.late, func(x lateHeartbeat) bool { return x.Ended.After(old) })
	h.late = slices.Delete(h.late, 0, max(keep, len(h.late)-maxLate))
}

// NoteReboot takes in that a node was rebooted: its late heartbeat shows no slow kubelet.
func (h *Heartbeats) NoteReboot(node string, t time.Time) {
	for i := range h.late {
		if x := &h.late[i]; x.Node == node && t.Sub(x.Ended) <= bootReported {
			x.Rebooted = true
		}
	}
}

// LongestToBridge is the longest late interval that a longer grace period should bridge. That of a node that is down, was rebooted or left as
// announced is none, nor is one that it may share with other nodes.
func (h *Heartbeats) LongestToBridge(c Cluster) time.Duration {
	sorted := slices.Clone(h.late)
	slices.SortStableFunc(sorted, func(a, b lateHeartbeat) int { return cmp.Compare(length(b), length(a)) })
	for i := range sorted {
		if x := &sorted[i]; length(*x) <= advice.LongestGrace && h.speaks(x, c) {
			return length(*x)
		}
	}
	return 0
}

func length(x lateHeartbeat) time.Duration { return x.Ended.Sub(x.Began) }

// speaks reports whether a late heartbeat speaks for a longer grace period.
func (h *Heartbeats) speaks(x *lateHeartbeat, c Cluster) bool {
	age := c.Now.Sub(x.Ended)
	if x.Rebooted || age > lateRemembered || c.History.Explains(&x.Silence) {
		return false
	}
	times, near := 0, []verdict.Silence(nil)
	for i := range h.late {
		y := &h.late[i]
		if y.Node == x.Node {
			times++
		}
		if y.Began.Sub(x.Began).Abs() <= time.Hour {
			near = append(near, y.Silence)
		}
	}
	if !x.missed && age > lateFor && times < often {
		return false
	}
	f := c.NodeLoss([]verdict.Silence{x.Silence}, h.nodes)
	f.Others = near
	for _, ongoing := range c.History.After(c.Now.Add(-time.Hour)) {
		if ongoing.Ended.IsZero() {
			f.Others = append(f.Others, ongoing)
		}
	}
	return verdict.IsAlone(f)
}
