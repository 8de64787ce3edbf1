package record

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

// lateHeartbeat is an interval that was so long that the grace period matters.
type lateHeartbeat struct {
	verdict.Silence
	missed bool
}

// LearnGracePeriod takes in what decides about the grace period.
func (s *Store) LearnGracePeriod(x transition.GracePeriodKnown) {
	s.GracePeriod, s.Managed = x.Period, x.Managed
	s.defaultGrace, s.interval = x.Default, x.Interval
}

func (s *Store) grace() advice.GracePeriod {
	return advice.GracePeriod{Period: s.GracePeriod, Default: s.defaultGrace, Interval: s.interval, Managed: s.Managed}
}

// HeartbeatInterval is how often nodes send heartbeats; Undisturbed is the longest interval of a node that nothing delays.
func (s *Store) HeartbeatInterval() time.Duration { return s.grace().Shortest() / 2 }

// Undisturbed is the longest interval between heartbeats of a node that nothing delays.
func (s *Store) Undisturbed() time.Duration { return s.grace().Undisturbed() }

// IsLate reports whether an interval between two heartbeats is so long that the grace period matters.
func (s *Store) IsLate(interval time.Duration) bool {
	return 2*interval > s.GracePeriod && interval > s.grace().Late()
}

// NoteLate takes in a late interval between two heartbeats of a node, the second one at t. nodes is how many there are.
func (s *Store) NoteLate(node string, t time.Time, interval time.Duration, nodes int) {
	s.nodes = nodes
	s.late = append(s.late, lateHeartbeat{
		verdict.Silence{Node: node, Began: t.Add(-interval), Ended: t}, s.GracePeriod > 0 && interval > s.GracePeriod,
	})
	old := t.Add(-lateRemembered)
	keep := slices.IndexFunc(s.late, func(x lateHeartbeat) bool { return x.Ended.After(old) })
	s.late = slices.Delete(s.late, 0, max(keep, len(s.late)-maxLate))
}

// NoteReboot takes in that a node was rebooted: its late heartbeat shows no slow kubelet.
func (s *Store) NoteReboot(node string, t time.Time) {
	for i := range s.late {
		if x := &s.late[i]; x.Node == node && t.Sub(x.Ended) <= bootReported {
			x.Rebooted = true
		}
	}
}

// RecommendedGracePeriod is the grace period to set as of now; 0 if there is none to recommend.
func (s *Store) RecommendedGracePeriod() time.Duration { return s.gracePeriod().Recommended() }

// gracePeriod is what decides about the grace period as of now.
func (s *Store) gracePeriod() advice.GracePeriod {
	g := s.grace()
	g.Longest = s.longestToBridge()
	return g
}

// longestToBridge is the longest late interval that a longer grace period should bridge. That of a node that is down, was rebooted or left as
// announced is none, nor is one that it may share with other nodes.
func (s *Store) longestToBridge() time.Duration {
	sorted := slices.Clone(s.late)
	slices.SortStableFunc(sorted, func(a, b lateHeartbeat) int { return cmp.Compare(length(b), length(a)) })
	for i := range sorted {
		if x := &sorted[i]; length(*x) <= advice.LongestGrace && s.speaks(x) {
			return length(*x)
		}
	}
	return 0
}

func length(x lateHeartbeat) time.Duration { return x.Ended.Sub(x.Began) }

// speaks reports whether a late heartbeat speaks for a longer grace period.
func (s *Store) speaks(x *lateHeartbeat) bool {
	age := s.now.Sub(x.Ended)
	if x.Rebooted || age > lateRemembered || s.History.Explains(&x.Silence) {
		return false
	}
	times, near := 0, []verdict.Silence(nil)
	for i := range s.late {
		y := &s.late[i]
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
	f := s.NodeLoss([]verdict.Silence{x.Silence}, s.nodes)
	f.Others = near
	for _, ongoing := range s.History.After(s.now.Add(-time.Hour)) {
		if ongoing.Ended.IsZero() {
			f.Others = append(f.Others, ongoing)
		}
	}
	return verdict.IsAlone(f)
}
