package verdict

import (
	"fmt"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// upgradeText describes a kubelet upgrade that may have caused silences to begin together. The text is empty if there
// was no such upgrade.
func (f *NodeLoss) upgradeText() string {
	if text := f.upgradedTogether(f.largestGroup()); text != "" {
		return text
	}
	return f.upgrading()
}

// upgrading names nodes that came back with a different kubelet version while the other nodes of the group are still
// silent. An upgrade of the silent nodes may be in progress, too. The text is empty if no node is back, or if a node
// came back with the same version.
func (f *NodeLoss) upgrading() string {
	silent := f.largestGroup()
	if len(silent) < 2 || slices.ContainsFunc(silent, func(s *Silence) bool { return !s.Ended.IsZero() }) {
		return ""
	}
	back := slices.DeleteFunc(slices.Clone(f.Silences), func(s *Silence) bool { return !s.Upgraded || !hasNear(silent, s, f.Interval) })
	if len(back) == 0 {
		return ""
	}
	return nodesText(back) + " fell silent with them and came back with a different kubelet version, so an upgrade may have stopped all of them"
}

// upgradedTogether describes a kubelet upgrade that affected these nodes and only a few others shortly before the
// silences. The new kubelets may be the common cause. The text is empty if there was no such upgrade.
func (f *NodeLoss) upgradedTogether(silent []*Silence) string {
	if f.Upgrades == nil || len(silent) == 0 {
		return ""
	}
	for _, s := range silent {
		if !f.Upgrades.Before(s.Node, s.Began) {
			return ""
		}
	}
	others := f.Upgrades.CountUpgraded(silent[0].Began, silent[len(silent)-1].Began) - len(silent)
	switch {
	case others > len(silent):
		return ""
	case others <= 0:
		return fmt.Sprintf("only the kubelets of %s were upgraded in the ten minutes before the silences", nodesText(silent))
	}
	return fmt.Sprintf("the kubelets of %s were upgraded in the ten minutes before the silences, and only %s", nodesText(silent), phrase.Count(others, "other kubelet was", "other kubelets were"))
}
