// Package upgrades remembers which kubelets were replaced by another version.
package upgrades

import "time"

const (
	// upgradeExplains is for how long after an upgrade the new kubelet may be why its node falls silent.
	upgradeExplains = 10 * time.Minute
	// upgradesRemembered covers the silences of the last hour, and what came before them.
	upgradesRemembered = 2 * time.Hour
)

// Upgrades are the kubelets that reported another version in the last two hours. The zero value has none.
type Upgrades struct {
	// all are sorted by time. of are the times of each node.
	all []upgrade
	of  map[string][]time.Time
}

type upgrade struct {
	node string
	at   time.Time
}

// Note notes that a kubelet reports another version.
func (u *Upgrades) Note(node string, t time.Time) {
	if u.of == nil {
		u.of = map[string][]time.Time{}
	}
	old := 0
	for ; old < len(u.all) && t.Sub(u.all[old].at) > upgradesRemembered; old++ {
		name := u.all[old].node
		if u.of[name] = u.of[name][1:]; len(u.of[name]) == 0 {
			delete(u.of, name)
		}
	}
	u.all = append(u.all[old:], upgrade{node, t})
	u.of[node] = append(u.of[node], t)
}

// Before reports whether the kubelet of a node was upgraded a short time before t.
func (u *Upgrades) Before(node string, t time.Time) bool {
	for _, at := range u.of[node] {
		if !at.After(t) && t.Sub(at) <= upgradeExplains {
			return true
		}
	}
	return false
}

// Reached is how many nodes were upgraded a short time before silences that began between first and last.
func (u *Upgrades) Reached(first, last time.Time) int {
	names := map[string]bool{}
	for _, x := range u.all {
		if first.Sub(x.at) <= upgradeExplains && !x.at.After(last) {
			names[x.node] = true
		}
	}
	return len(names)
}
