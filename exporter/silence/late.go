package silence

import (
	"cmp"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// lateFor is the time for which a late heartbeat affects the recommended grace period. If the heartbeat arrived
	// after the grace period, or if its node had at least `often` late heartbeats, this time is a day instead.
	lateFor = 10 * time.Minute
	often   = 3
)

// ClockSetBack records that the clock of a late node was set back.
func (h *Store) ClockSetBack(node string, by time.Duration) {
	if s := h.late[node]; s != nil {
		s.ClockBack = by
	}
}

// Arrived records that a late heartbeat arrived at t. The parameter interval is the time since the previous heartbeat.
// The parameter `nodes` is the number of nodes in the cluster.
func (h *Store) Arrived(name string, t time.Time, interval time.Duration, nodes int) {
	h.Nodes = nodes
	s := h.newest(name)
	if s == nil || !s.Ended.Equal(t) {
		if s = h.late[name]; s == nil {
			return // kubeflap may have missed heartbeats during the interval
		}
		s.Began, s.Ended = t.Add(-interval), t
		h.NotLate(name)
		h.Add(s)
	}
	s.Arrived = true
}

// mayBeOf reports whether a reboot or an upgrade that a kubelet reported at t may have caused the silence. If the kubelet
// reported the old bootID or version after the silence, at the time `old`, it did not. That time is zero if it is unknown.
func (s *Silence) mayBeOf(old, t time.Time) bool {
	return s.IsOngoing() || s.Ended.After(old) && t.Sub(s.Ended) <= reportsEvery
}

// explainedBy returns the silence that a reboot or upgrade explains, or nil. This is the newest silence.
func (h *Store) explainedBy(name string, old, t time.Time) *Silence {
	s := cmp.Or(h.late[name], h.newest(name))
	if s == nil || !s.mayBeOf(old, t) {
		return nil
	}
	return s
}

// NodeRebooted records that a node reported a new bootID at t, and last the old one at the time `old`. It returns the
// silence that the reboot explains, or nil.
func (h *Store) NodeRebooted(name string, old, t time.Time) *Silence {
	for _, s := range h.all {
		s.MayBeReboot = s.MayBeReboot || s.Node == name && s.Arrived && s.mayBeOf(old, t)
	}
	s := h.explainedBy(name, old, t)
	if s != nil {
		s.Rebooted = true
	}
	return s
}

// KubeletUpgraded is like NodeRebooted, for a kubelet that reported a different version.
func (h *Store) KubeletUpgraded(name string, old, t time.Time) *Silence {
	h.Upgrades.Note(name, t)
	s := h.explainedBy(name, old, t)
	if s != nil {
		s.Upgraded = true
	}
	return s
}

// Longest returns the longest heartbeat interval that the grace period should tolerate. It ignores intervals above
// advice.LongestGrace, and intervals that the node itself did not cause.
func (h *Store) Longest(now time.Time) (longest time.Duration) {
	for _, s := range h.all {
		if d := s.Ended.Sub(s.Began); s.Arrived && d > longest && d <= advice.LongestGrace && h.justifiesLongerGracePeriod(s, now) {
			longest = d
		}
	}
	return longest
}

// isCausedByNode reports whether a late heartbeat arrived, and the node itself caused the silence before it.
func (s *Silence) isCausedByNode() bool {
	return s.Arrived && s.Judgement != nil && s.Judgement.Verdict() == verdict.Node && !s.Explained()
}

// justifiesLongerGracePeriod reports whether a late heartbeat is a reason for a longer grace period.
func (h *Store) justifiesLongerGracePeriod(s *Silence, now time.Time) bool {
	age := now.Sub(s.Ended)
	if age > remembered || !s.isCausedByNode() || s.MayBeReboot {
		return false
	}
	return !s.Short || age <= lateFor || h.all.Count(func(x *Silence) bool { return x.Node == s.Node && x.isCausedByNode() }) >= often
}
