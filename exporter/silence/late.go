package silence

import (
	"slices"
	"time"

	"github.com/kubeflap/kubeflap/exporter/advice"
	"github.com/kubeflap/kubeflap/exporter/verdict"
)

const (
	// lateFor is the time for which a late heartbeat affects the recommended grace period. If the heartbeat arrived
	// after the grace period, or if its node had at least `often` late heartbeats, this time is lateRemembered instead.
	// maxLate limits the number of late heartbeats in memory.
	lateFor        = 10 * time.Minute
	lateRemembered = 24 * time.Hour
	often          = 3
	maxLate        = 500
)

// IsLate reports whether the interval between two heartbeats is long enough to affect the recommended grace period.
func (s Settings) IsLate(interval time.Duration) bool {
	return 2*interval > s.Period && interval > s.LateThreshold()
}

// BecameLate begins a silence of half the grace period.
func (h *Store) BecameLate(s *Silence) {
	if h.late == nil {
		h.late = map[string]*Silence{}
	}
	s.Short = true
	h.late[s.Node] = s
}

// NotLate records that a node is no longer late: it sent a heartbeat, or exceeded the grace period.
func (h *Store) NotLate(node string) { delete(h.late, node) }

// ClockSetBack records that the clock of a late node was set back.
func (h *Store) ClockSetBack(node string, by time.Duration) {
	if x := h.late[node]; x != nil {
		x.ClockBack = by
	}
}

// Arrived records that a late heartbeat arrived at t. The parameter interval is the time since the previous heartbeat.
// The parameter `nodes` is the number of nodes in the cluster.
func (h *Store) Arrived(name string, t time.Time, interval time.Duration, nodes int) {
	h.Nodes = nodes
	n := h.of(name)
	x := n.lost
	if x == nil || !x.Ended.Equal(t) {
		if x = h.late[name]; x == nil {
			return // kubeflap may have missed heartbeats during the interval
		}
		x.Began, x.Ended = t.Add(-interval), t
		n.newest = x
	}
	h.arrived = append(h.arrived, x)
	old := t.Add(-lateRemembered)
	keep := slices.IndexFunc(h.arrived, func(x *Silence) bool { return x.Ended.After(old) })
	h.arrived = slices.Delete(h.arrived, 0, max(keep, len(h.arrived)-maxLate))
}

// Longest returns the longest heartbeat interval that the grace period should tolerate. It ignores intervals above
// advice.LongestGrace, and intervals that the node itself did not cause.
func (h *Store) Longest(now time.Time) (longest time.Duration) {
	for _, x := range h.arrived {
		if d := x.Ended.Sub(x.Began); d > longest && d <= advice.LongestGrace && h.justifiesLongerGracePeriod(x, now) {
			longest = d
		}
	}
	return longest
}

// isCausedByNode reports whether the node itself caused the silence.
func (s *Silence) isCausedByNode() bool {
	return s.Judgement != nil && s.Judgement.Verdict() == verdict.Node && !s.Explained()
}

// justifiesLongerGracePeriod reports whether a late heartbeat is a reason for a longer grace period.
func (h *Store) justifiesLongerGracePeriod(x *Silence, now time.Time) bool {
	age := now.Sub(x.Ended)
	if age > lateRemembered || !x.isCausedByNode() || x.MayBeReboot {
		return false
	}
	return !x.Short || age <= lateFor || h.arrived.Count(func(y *Silence) bool { return y.Node == x.Node && y.isCausedByNode() }) >= often
}

// Late returns the unexplained short silences that have not ended before t.
func (h *Store) Late(t time.Time) (all List) {
	for _, x := range h.late {
		if !x.Explained() {
			all = append(all, x)
		}
	}
	for _, x := range h.arrived {
		if x.Short && !x.Explained() && !x.Ended.Before(t) {
			all = append(all, x)
		}
	}
	return ByBegan(all)
}
