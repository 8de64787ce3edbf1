package verdict

import (
	"fmt"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// upgrade explains that a kubelet upgrade may be the common cause of nodes that fell silent together. It is empty
// without such an upgrade. The fault may be in the new kubelets, or in something that the nodes share.
func (f *NodeLoss) upgrade() string {
	if text := f.upgradedTogether(f.together()); text != "" {
		return text
	}
	return f.upgrading()
}

// upgrading describes a group whose returned nodes all have another kubelet version, so that the silent ones may be in
// an upgrade, too. Otherwise it is empty.
func (f *NodeLoss) upgrading() string {
	silent := f.together()
	if len(silent) < 2 || slices.ContainsFunc(silent, func(s *Silence) bool { return !s.Ended.IsZero() }) {
		return ""
	}
	back := slices.DeleteFunc(slices.Clone(f.Silences), func(s *Silence) bool { return !s.Upgraded || !hasNear(silent, s, f.Interval) })
	if len(back) == 0 {
		return ""
	}
	return nodesText(back) + " fell silent with them and came back with another kubelet version, so an upgrade may have stopped all of them"
}

// upgradedTogether describes a kubelet upgrade that reached these nodes, and few others, shortly before their silences.
// Such silences have a common cause, but it may be the new kubelets. The text is empty if there was no such upgrade.
func (f *NodeLoss) upgradedTogether(silent []*Silence) string {
	if f.Upgrades == nil || len(silent) == 0 {
		return ""
	}
	for _, s := range silent {
		if !f.Upgrades.Before(s.Node, s.Began) {
			return ""
		}
	}
	others := f.Upgrades.Reached(silent[0].Began, silent[len(silent)-1].Began) - len(silent)
	switch {
	case others > len(silent):
		return ""
	case others <= 0:
		return fmt.Sprintf("only the kubelets of %s were upgraded in the ten minutes before", nodesText(silent))
	}
	return fmt.Sprintf("the kubelets of %s were upgraded in the ten minutes before, and only %s", nodesText(silent), phrase.Count(others, "other kubelet", "other kubelets"))
}
