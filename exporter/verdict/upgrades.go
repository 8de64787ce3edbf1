package verdict

import (
	"fmt"
	"slices"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

// upgrade says what speaks for an upgrade of their kubelets as what the nodes that fell silent together have in common; empty if nothing does. It does not
// show whether the new kubelets are at fault, or something that the nodes share.
func (f *NodeLoss) upgrade() string {
	if text := f.upgradedTogether(f.together()); text != "" {
		return text
	}
	return f.upgrading()
}

// upgrading describes nodes that fell silent together, if all that are back have another version of the kubelet, so the others may
// be upgraded as well. It is empty if that is not so.
func (f *NodeLoss) upgrading() string {
	silent := f.together()
	if len(silent) < 2 || slices.ContainsFunc(silent, func(s *Silence) bool { return !s.Ended.IsZero() }) {
		return ""
	}
	back := slices.DeleteFunc(slices.Clone(f.Silences), func(s *Silence) bool { return !s.Upgraded || !hasNear(silent, s, f.Interval) })
	if len(back) == 0 {
		return ""
	}
	return nodesText(back) + " fell silent with them and came back with another version of the kubelet: an upgrade may have stopped them all"
}

// upgradedTogether says that an upgrade reached these silent nodes a short time before, and hardly others; empty if not. They have one cause then, but that
// may be the new kubelets.
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
		return fmt.Sprintf("the kubelets of %s, and of no other nodes, were upgraded in the ten minutes before", nodesText(silent))
	}
	return fmt.Sprintf("the kubelets of %s, and of only %s, were upgraded in the ten minutes before", nodesText(silent), phrase.Count(others, "other node", "other nodes"))
}
