package controlplane

import (
	"slices"
	"time"
)

// Episode is a group of nodes that the node controller set to Unknown within a minute of each other. A group counts as
// one sample, because the same delay affects all its nodes.
type Episode struct {
	At time.Time `json:"at"`
	// Shortest is the shortest time from a node's last heartbeat until the node controller set the node to Unknown.
	Shortest time.Duration `json:"shortest"`
}

const (
	// believedAfter is the number of episodes that must agree before kubeflap believes that the grace period is not the
	// default. A slow or restarted controller manager can cause a single wrong sample. Episodes agree if they differ by
	// at most the controller's monitor period.
	believedAfter = 2
	monitorPeriod = 5 * time.Second
	// rememberedEpisodes is the maximum number of stored episodes. It is larger than believedAfter, so a single wrong
	// sample has no effect.
	rememberedEpisodes = 5
)

// `observed` returns the newest grace period on which at least believedAfter episodes agree.
func (g *GracePeriod) observed() (shortest time.Duration, agreed bool) {
	for _, newest := range slices.Backward(g.episodes) {
		shortest, n := newest.Shortest, 0
		for _, x := range g.episodes {
			if d := x.Shortest - newest.Shortest; d.Abs() <= monitorPeriod {
				shortest, n = min(shortest, x.Shortest), n+1
			}
		}
		if n >= believedAfter {
			return shortest, true
		}
	}
	return 0, false
}

// Sample adds the time from a node's last heartbeat until the node controller set the node to Unknown. It ignores a
// time shorter than the node's heartbeat interval, because no working controller manager has such a short grace period.
func (g *GracePeriod) Sample(d time.Duration, t time.Time, interval time.Duration) {
	n := len(g.episodes)
	switch {
	case d < interval*95/100:
		return
	case n > 0 && t.Sub(g.episodes[n-1].At) <= time.Minute:
		g.episodes[n-1].Shortest = min(g.episodes[n-1].Shortest, d)
	default:
		g.episodes = append(g.episodes[max(n+1-rememberedEpisodes, 0):], Episode{t, d})
	}
	g.changed()
}

// NodeStayedReady records that a node stayed Ready during a silence of length d. It drops the episodes whose grace
// period is shorter than d by more than MonitorSlack.
func (g *GracePeriod) NodeStayedReady(d time.Duration) {
	before := len(g.episodes)
	g.episodes = slices.DeleteFunc(g.episodes, func(x Episode) bool { return d > x.Shortest+MonitorSlack })
	if len(g.episodes) < before {
		g.changed()
	}
}

// Episodes returns the samples of the grace period until t, oldest first.
func (g *GracePeriod) Episodes(t time.Time) []Episode {
	return slices.DeleteFunc(slices.Clone(g.episodes), func(x Episode) bool { return x.At.After(t) })
}

// Restore sets the samples of the grace period.
func (g *GracePeriod) Restore(all []Episode) { g.episodes = all }
