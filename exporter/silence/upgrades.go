package silence

import (
	"slices"
	"time"
)

const (
	// upgradeExplains is the longest time from a kubelet's upgrade to a silence that the new kubelet may have caused.
	upgradeExplains = 10 * time.Minute
	// upgradesRemembered is how long upgrades are kept. It must exceed upgradeExplains plus one hour, because verdicts
	// consider the silences of the last hour.
	upgradesRemembered = 2 * time.Hour
)

// Upgrades holds the kubelets that reported a different version in the last two hours, sorted by time.
type Upgrades []upgrade

type upgrade struct {
	node string
	at   time.Time
}

// Note records that a kubelet reported a different version.
func (u *Upgrades) Note(node string, t time.Time) {
	old, _ := slices.BinarySearchFunc(*u, t.Add(-upgradesRemembered), compareTime)
	*u = append((*u)[old:], upgrade{node, t})
}

func compareTime(x upgrade, t time.Time) int { return x.at.Compare(t) }

// explaining returns the upgrades that may have caused silences that began between first and last.
func (u Upgrades) explaining(first, last time.Time) Upgrades {
	from, _ := slices.BinarySearchFunc(u, first.Add(-upgradeExplains), compareTime)
	to, _ := slices.BinarySearchFunc(u, last.Add(1), compareTime)
	return u[from:to]
}

// Before reports whether the kubelet of the silence's node was upgraded shortly before.
func (u Upgrades) Before(s *Silence) bool {
	return slices.ContainsFunc(u.explaining(s.Began, s.Began), func(x upgrade) bool { return x.node == s.Node })
}

// Count returns the number of nodes that were upgraded before or during a period of silences.
func (u Upgrades) Count(first, last time.Time) int {
	nodes := map[string]bool{}
	for _, x := range u.explaining(first, last) {
		nodes[x.node] = true
	}
	return len(nodes)
}
