package verdict

import (
	"fmt"

	"github.com/kubeflap/kubeflap/exporter/phrase"
)

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
