// Package upgrades remembers recent upgrades of kubelets.
package upgrades

import "time"

const (
	// upgradeExplains is the longest time from an upgrade to a silence that the new kubelet may have caused.
	upgradeExplains = 10 * time.Minute
	// upgradesRemembered is how long upgrades are kept. It must exceed upgradeExplains plus one hour, because verdicts
	// consider the silences of the last hour.
	upgradesRemembered = 2 * time.Hour
)

// Upgrades holds the kubelets that reported a different version in the last two hours. The zero value is empty.
type Upgrades struct {
	// The slice holds all upgrades, sorted by time. The map holds the times of each node's upgrades.
	all    []upgrade
	byNode map[string][]time.Time
}

type upgrade struct {
	node string
	at   time.Time
}

// Note records that a kubelet reported a different version.
func (u *Upgrades) Note(node string, t time.Time) {
	if u.byNode == nil {
		u.byNode = map[string][]time.Time{}
	}
	old := 0
	for ; old < len(u.all) && t.Sub(u.all[old].at) > upgradesRemembered; old++ {
		name := u.all[old].node
		if u.byNode[name] = u.byNode[name][1:]; len(u.byNode[name]) == 0 {
			delete(u.byNode, name)
		}
	}
	u.all = append(u.all[old:], upgrade{node, t})
	u.byNode[node] = append(u.byNode[node], t)
}

// Before reports whether the node's kubelet was upgraded in the 10 minutes before t.
func (u *Upgrades) Before(node string, t time.Time) bool {
	for _, at := range u.byNode[node] {
		if !at.After(t) && t.Sub(at) <= upgradeExplains {
			return true
		}
	}
	return false
}

// CountUpgraded returns the number of nodes that were upgraded before or during a period of silences. Upgrades more
// than 10 minutes before the period do not count.
func (u *Upgrades) CountUpgraded(first, last time.Time) int {
	names := map[string]bool{}
	for _, x := range u.all {
		if first.Sub(x.at) <= upgradeExplains && !x.at.After(last) {
			names[x.node] = true
		}
	}
	return len(names)
}
